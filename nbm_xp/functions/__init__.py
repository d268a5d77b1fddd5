"""The documented functions, each once, over ``xp = array_namespace(...)``.

One body serves arrays of every library and, recorded, Tensors. Chapters: `elementwise`, `comparison`, `reductions`,
`extremes`, `neural`, `shaping`, `joining`, `linear_algebra`, `creation`, `variables`, `conversion`, `graphs`,
`control` and `randomness`. Where two systems differ in what a name means, the difference is a parameter, which their
surfaces pass.
"""
