"""The functions of the array API standard on Tensors, one module for each chapter of the standard.

Each function is declared in one place, with its name, its shape and dtype rule and its gradient rule.
"""
