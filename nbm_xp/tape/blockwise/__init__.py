"""Plans that run block by block along the batch, as one task for each block of a lazy library."""
