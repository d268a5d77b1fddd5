"""Arrays in files: .npz, .safetensors, .npy and Zarr, read without running code."""
