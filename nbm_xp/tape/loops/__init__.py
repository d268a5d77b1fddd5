"""Loops: a node for a step that runs many times, its reverse, and the values that both store."""
