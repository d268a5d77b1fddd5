"""TestU01 on the numbers of the package."""
