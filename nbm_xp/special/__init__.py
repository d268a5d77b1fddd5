"""Special functions on the arrays of every library and on Tensors, by SciPy's names, with gradients of any order.

Each function calls the library's own: SciPy for NumPy; `cupyx`, `torch.special` and `jax.scipy.special`; the blocks'
library for Dask; SciPy, on the host, for unlisted libraries. Functions that PyTorch and JAX lack are implemented over
the array API, except the Bessel functions `j0` and `j1`, which JAX lacks and PyTorch computes to six digits. Calls with
Tensors are recorded. ``scipy.special`` itself dispatches Tensors to these functions where ``SCIPY_ARRAY_API=1`` is set.

Examples
--------
>>> import numpy as np
>>> from nbm_xp.tape import grad
>>> grad(gammaln)(np.asarray(3.0)).round(6) == digamma(np.asarray(3.0)).round(6)
np.True_
"""

from __future__ import annotations

from nbm_xp.package import public_names

from .distributions import betainc, chdtr, chdtrc, gammainc, gammaincc, i0, i0e, i1, i1e, j0, j1, stdtr, stdtrit
from .entropy import entr, expit, kl_div, log_expit, log_softmax, logit, logsumexp, rel_entr, softmax, xlog1py, xlogy
from .gamma_family import (
    beta,
    betaln,
    digamma,
    erf,
    erfc,
    erfcx,
    erfinv,
    gamma,
    gammaln,
    log_ndtr,
    ndtr,
    ndtri,
    polygamma,
    zeta,
)

__all__ = [
    "beta", "betainc", "betaln", "chdtr", "chdtrc", "digamma", "entr", "erf", "erfc", "erfcx", "erfinv", "expit",
    "gamma", "gammainc", "gammaincc", "gammaln", "i0", "i0e", "i1", "i1e", "j0", "j1", "kl_div", "log_expit",
    "log_ndtr", "log_softmax", "logit", "logsumexp", "ndtr", "ndtri", "polygamma", "rel_entr", "softmax", "stdtr",
    "stdtrit", "xlog1py", "xlogy", "zeta",
]  # fmt: skip

public_names(globals())
