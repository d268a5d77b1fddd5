"""The libraries' own special functions, by the names that SciPy has for them.

NumPy's are SciPy's, which is not needed: without it the portable forms serve. CuPy's stand in `cupyx`. PyTorch lacks
`beta`, `betainc`, `betaln`, `gamma`, `kl_div`, `log_expit`, `rel_entr` and Riemann's zeta function, its `bessel_j0` and
`bessel_j1` are wrong from the sixth digit on, its first `polygamma` from the tenth (the others come from its zeta
function, as here the first does) and all at infinity, and its `gammainc` and `gammaincc` have eight digits. JAX lacks
`j0`, `j1`, `log_expit` and Riemann's zeta function, its `beta` and `betaln` are wrong from the sixth digit on, and its
`polygamma` is reflected, being wrong below -10. What a library lacks or has wrong, but for the eight digits, is
computed by a portable form of `nbm_xp.namespace.special`.
"""

from __future__ import annotations

import importlib
import importlib.util
import math
from collections.abc import Callable
from typing import Any

from ..dispatch import array_namespace
from ..special.gamma_family import reflected_polygamma

__all__ = ["cupy_own", "jax_own", "numpy_own", "torch_own"]

_UFUNCS = frozenset({
    "gammaln", "gamma", "digamma", "beta", "betaln", "erf", "erfc", "erfinv", "erfcx", "ndtr", "log_ndtr", "ndtri",
    "i0", "i0e", "i1", "i1e", "j0", "j1", "expit", "log_expit", "logit", "entr", "xlogy", "xlog1py", "rel_entr",
    "kl_div", "gammainc", "gammaincc", "betainc", "zeta", "chdtr", "chdtrc", "stdtr", "stdtrit",
})  # fmt: skip
_TESTS = {"chdtr", "chdtrc", "stdtr", "stdtrit"}
_TORCH = _UFUNCS - {"gamma", "beta", "betaln", "log_expit", "rel_entr", "kl_div", "betainc", "j0", "j1"} - _TESTS
_JAX = _UFUNCS - {"log_expit", "j0", "j1", "beta", "betaln"} - _TESTS

Own = Callable[..., Any]


def _scipy_like(module: str, name: str) -> Own | None:
    """A function of a module made after SciPy's."""
    root = module.partition(".")[0]
    if importlib.util.find_spec(root) is None:
        return None
    special: Any = importlib.import_module(module)
    if name == "polygamma_of":
        return lambda x, *, n: special.polygamma(n, x)
    name = "zeta" if name in ("hurwitz_zeta", "riemann_zeta") else name
    found: Own | None = getattr(special, name, None) if name in _UFUNCS else None
    return found


def numpy_own(name: str) -> Own | None:
    """SciPy's function of that name, if SciPy is there."""
    return _scipy_like("scipy.special", name)


def cupy_own(name: str) -> Own | None:
    """CuPy's function of that name."""
    return None if name == "riemann_zeta" else _scipy_like("cupyx.scipy.special", name)


def torch_own(name: str) -> Own | None:
    """PyTorch's function of that name."""
    special: Any = importlib.import_module("torch.special")
    if name == "polygamma_of":
        torch: Any = importlib.import_module("torch")

        def polygamma(x: Any, *, n: int) -> Any:
            found = special.zeta(2.0, x) if n == 1 else special.polygamma(n, x)
            return torch.where(x == math.inf, 0.0, found)

        return polygamma
    name = "zeta" if name == "hurwitz_zeta" else name
    return getattr(special, name) if name in _TORCH else None


def jax_own(name: str) -> Own | None:
    """JAX's function of that name."""
    special: Any = importlib.import_module("jax.scipy.special")
    if name == "polygamma_of":
        return lambda x, *, n: reflected_polygamma(array_namespace(x), x, n, lambda p: special.polygamma(n, p))
    name = "zeta" if name == "hurwitz_zeta" else name
    return getattr(special, name) if name in _JAX else None
