"""The documented functions, each once, over ``xp = array_namespace(...)``.

One body serves arrays of every library and, recorded, Tensors. Where two systems differ in what a name means, the
difference is a parameter, which their surfaces pass.
"""
