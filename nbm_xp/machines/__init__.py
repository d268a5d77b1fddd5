"""What every Boltzmann machine has, of layers or on a graph: units, rows of data, random streams, diagnostics.

`nbm_xp.boltzmann` and `nbm_xp.graphs` stand on it, side by side.
"""
