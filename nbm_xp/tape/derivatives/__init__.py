"""Derivatives of functions of arrays: pulled back, pushed forward, as matrices, of any order."""
