"""The version of the package: the one place where it stands, which the build reads too."""

__all__ = ["__version__"]

__version__ = "0.2.0"
