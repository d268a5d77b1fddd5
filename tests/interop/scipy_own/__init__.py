"""SciPy's own tests of its array API functions, with the tape's namespace standing in for array_api_strict.

SciPy's wheel brings its tests along. Those marked ``array_api_backends`` run twice, on array_api_strict itself and on
Tensors (`standin`, a plugin for pytest): all that passes there is to pass here.

``python -m tests.interop.scipy_own`` runs them, says how many passed and writes docs/scipy_tests.md; as the
session ``scipy`` of nox.
"""
