"""The extension `linalg` of the array API standard: decompositions, what is solved by them, norms, determinants."""
