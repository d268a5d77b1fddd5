"""Derivatives of functions of arrays of any order: gradients, products with Jacobians and Hessians, and matrices."""
