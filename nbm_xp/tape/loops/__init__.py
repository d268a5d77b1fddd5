"""Loops: one node for a step that runs many times, its reverse, and what either of them keeps."""
