"""Distributions whose elements are drawn each on its own: how numbers are made of an element's own uniforms."""
