"""The functions of the array API standard on Tensors, one chapter of the standard a module.

Each function is declared in one place: its name, its shape and dtype rule, and its gradient rule.
"""
