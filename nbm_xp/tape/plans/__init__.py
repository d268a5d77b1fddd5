"""Compilation of a graph to a Python function for one library: order, source, cache and error notes."""
