"""From a graph to a Python function for one library: order, source, cache, and what its errors say."""
