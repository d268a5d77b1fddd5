"""Special functions on Tensors: the extension `special`, with SciPy's names and derivatives of any order.

Each operation runs the library's own function or a portable implementation. Gradient rules use operations of this
module, so that higher derivatives use the same rules: the derivative of `digamma` is a `polygamma`, and the logarithms
from derivatives in a parameter of an incomplete function or of zeta are counted by the power arguments of
`gamma_moment`, `beta_moment` and `zeta_moment`. All functions are element-wise.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

from nbm_xp.namespace.special import ARITY, special_of, whole_number
from nbm_xp.tape.graph import Node
from nbm_xp.tape.lengths import is_number
from nbm_xp.tape.operations import ELEMENTWISE_TAG, declare
from nbm_xp.tape.tensor import Tensor, record

from .creation import asarray
from .data_types import floating, refuse_complex, together
from .elementwise import abs, equal, exp, floor, isinf, log, log1p, sign, where
from .shapes import broadcast, published

__all__ = [
    "beta", "betainc", "betaln", "chdtr", "chdtrc", "digamma", "entr", "erf", "erfc", "erfcx", "erfinv", "expit",
    "gamma", "gammainc", "gammaincc", "gammaln", "i0", "i0e", "i1", "i1e", "j0", "j1", "kl_div", "log_expit",
    "log_ndtr", "logit", "ndtr", "ndtri", "polygamma", "psi", "rel_entr", "stdtr", "stdtrit", "xlog1py", "xlogy",
    "zeta",
]  # fmt: skip

Recorded: TypeAlias = Callable[..., Tensor]

_TWO_BY_ROOT_PI = 2.0 / math.sqrt(math.pi)
_ROOT_HALF = math.sqrt(0.5)
_ROOT_TAU = math.sqrt(2.0 * math.pi)


def _spec(*arrays: Node, **attributes: Any) -> Any:
    return broadcast(*(x.shape for x in arrays)), arrays[0].dtype


def _declared(name: str, *rules: Callable[..., Any]) -> Recorded:
    """Declare a special function of arrays with one rule for each; other arguments are keywords."""
    count = ARITY[name]
    op = declare(
        f"special.{name}",
        _spec,
        rules,
        run=lambda xp, *arrays, **options: getattr(special_of(*arrays), name)(*arrays, **options),
        tags=frozenset({ELEMENTWISE_TAG}),
    )

    def function(*values: Any, **options: Any) -> Tensor:
        if len(values) != count:
            raise TypeError(f"{name} takes {count} arrays, got {len(values)}")
        for place, value in enumerate(values, start=1):
            refuse_complex(name, **{f"argument {place}": value})
        return record(op, *_floats(values), **options)

    return published(name, function, f"``{name}`` of `nbm_xp.special`, recorded.")


def _floats(values: tuple[Any, ...]) -> list[Tensor]:
    """Convert values to Tensors of their common floating dtype."""
    if len(values) == 1:
        return [floating(values[0])]
    found = [x if is_number(x) else floating(x) for x in together(*values)]
    dtype = next(x.dtype for x in found if isinstance(x, Tensor))
    return [x if isinstance(x, Tensor) else asarray(float(x), dtype=dtype) for x in found]


def _erfcx_slope(out: Tensor, x: Tensor) -> Tensor:
    """Return the derivative of `erfcx`; for large x, where its two terms cancel, by an asymptotic series."""
    far = x > 60.0
    z = 1.0 / where(far, x, 60.0) ** 2
    series = z * (-0.5 + z * (0.75 + z * (-1.875 + z * 6.5625)))
    return where(far, _TWO_BY_ROOT_PI * series, 2.0 * where(far, 0.0, x) * out - _TWO_BY_ROOT_PI)


gammaln: Recorded = _declared("gammaln", lambda g, out, x: g * digamma(x))
digamma: Recorded = _declared("digamma", lambda g, out, x: g * polygamma(1, x))
psi = digamma
gamma: Recorded = _declared("gamma", lambda g, out, x: g * out * digamma(x))
_polygamma: Recorded = _declared("polygamma_of", lambda g, out, x, *, n: g * polygamma(n + 1, x))
beta: Recorded = _declared(
    "beta",
    lambda g, out, a, b: g * out * (digamma(a) - digamma(a + b)),
    lambda g, out, a, b: g * out * (digamma(b) - digamma(a + b)),
)
betaln: Recorded = _declared(
    "betaln",
    lambda g, out, a, b: g * (digamma(a) - digamma(a + b)),
    lambda g, out, a, b: g * (digamma(b) - digamma(a + b)),
)
_riemann_zeta: Recorded = _declared(
    "riemann_zeta", lambda g, out, x: g * zeta_moment(x, asarray(1.0, dtype=x.dtype), k=1)
)
_hurwitz_zeta: Recorded = _declared(
    "hurwitz_zeta",
    lambda g, out, x, q: g * zeta_moment(x, q, k=1),
    lambda g, out, x, q: g * (-x * _hurwitz_zeta(x + 1.0, q)),
)
zeta_moment: Recorded = _declared(
    "zeta_moment",
    lambda g, out, x, q, *, k: g * zeta_moment(x, q, k=k + 1),
    lambda g, out, x, q, *, k: (
        g * (-x * zeta_moment(x + 1.0, q, k=k) - (k * zeta_moment(x + 1.0, q, k=k - 1) if k else 0.0))
    ),
)
erf: Recorded = _declared("erf", lambda g, out, x: g * (_TWO_BY_ROOT_PI * exp(-x * x)))
erfc: Recorded = _declared("erfc", lambda g, out, x: g * (-_TWO_BY_ROOT_PI * exp(-x * x)))
erfcx: Recorded = _declared("erfcx", lambda g, out, x: g * _erfcx_slope(out, x))
erfinv: Recorded = _declared("erfinv", lambda g, out, x: g * (exp(out * out) / _TWO_BY_ROOT_PI))
ndtr: Recorded = _declared("ndtr", lambda g, out, x: g * (exp(-0.5 * x * x) / _ROOT_TAU))
log_ndtr: Recorded = _declared("log_ndtr", lambda g, out, x: g * (math.sqrt(2.0 / math.pi) / erfcx(-_ROOT_HALF * x)))
ndtri: Recorded = _declared("ndtri", lambda g, out, p: g * (_ROOT_TAU * exp(0.5 * out * out)))
expit: Recorded = _declared("expit", lambda g, out, x: g * out * expit(-x))
log_expit: Recorded = _declared("log_expit", lambda g, out, x: g * expit(-x))
logit: Recorded = _declared("logit", lambda g, out, p: g / (p * (1.0 - p)))


def _share(x: Tensor, y: Tensor) -> Tensor:
    """Return ``x / y``, or 0 where `x` is 0."""
    none = equal(x, 0.0)
    return where(none, 0.0, x / where(none, 1.0, y))


def _log(x: Tensor) -> Tensor:
    """Return the logarithm, -inf at 0 and NaN below it, without a warning."""
    return where(x > 0, log(where(x > 0, x, 1.0)), where(equal(x, 0.0), -math.inf, math.nan))


def _log_ratio(x: Tensor, y: Tensor) -> Tensor:
    return _log(x) - _log(y)


xlogy: Recorded = _declared("xlogy", lambda g, out, x, y: g * _log(y), lambda g, out, x, y: g * _share(x, y))
xlog1py: Recorded = _declared(
    "xlog1py", lambda g, out, x, y: g * xlog1py(1.0, y), lambda g, out, x, y: g * _share(x, 1.0 + y)
)
entr: Recorded = _declared("entr", lambda g, out, x: -g * (_log(x) + 1.0))
rel_entr: Recorded = _declared(
    "rel_entr", lambda g, out, x, y: g * (_log_ratio(x, y) + 1.0), lambda g, out, x, y: -g * _share(x, y)
)
kl_div: Recorded = _declared(
    "kl_div", lambda g, out, x, y: g * _log_ratio(x, y), lambda g, out, x, y: g * (1.0 - _share(x, y))
)


def _gamma_density(a: Tensor, x: Tensor) -> Tensor:
    endless = isinf(x)
    t = where(endless, 1.0, x)
    return where(endless, 0.0, exp(xlogy(a - 1.0, t) - t - gammaln(a)))


def _beta_density(a: Tensor, b: Tensor, x: Tensor) -> Tensor:
    return exp(xlogy(a - 1.0, x) + xlog1py(b - 1.0, -x) - betaln(a, b))


def _gamma_moment(a: Tensor, x: Tensor, k: int) -> Tensor:
    return gamma_moment(a, x, k=k) if k else gammainc(a, x)


def _beta_moment(a: Tensor, b: Tensor, x: Tensor, j: int, k: int) -> Tensor:
    return beta_moment(a, b, x, j=j, k=k) if j or k else betainc(a, b, x)


def _moment_in_a(g: Tensor, out: Tensor, a: Tensor, x: Tensor, *, k: int) -> Tensor:
    return g * (_gamma_moment(a, x, k + 1) - k * polygamma(1, a) * _gamma_moment(a, x, k - 1))


def _moments_in(a: Tensor, b: Tensor, x: Tensor, j: int, k: int, first: bool) -> Tensor:
    """Return the derivative of a moment of the beta distribution in its first or its second parameter."""
    own, other = (j, k) if first else (k, j)
    both = polygamma(1, a + b)

    def moment(up: int, beside: int) -> Tensor:
        powers = (j + up, k + beside) if first else (j + beside, k + up)
        return _beta_moment(a, b, x, *powers)

    slope = moment(1, 0)
    if own:
        slope = slope - own * (polygamma(1, a if first else b) - both) * moment(-1, 0)
    return slope + other * both * moment(0, -1) if other else slope


gammainc: Recorded = _declared(
    "gammainc", lambda g, out, a, x: g * gamma_moment(a, x, k=1), lambda g, out, a, x: g * _gamma_density(a, x)
)
gammaincc: Recorded = _declared(
    "gammaincc", lambda g, out, a, x: -g * gamma_moment(a, x, k=1), lambda g, out, a, x: -g * _gamma_density(a, x)
)
gamma_moment: Recorded = _declared(
    "gamma_moment", _moment_in_a, lambda g, out, a, x, *, k: g * _gamma_density(a, x) * (_log(x) - digamma(a)) ** k
)
betainc: Recorded = _declared(
    "betainc",
    lambda g, out, a, b, x: g * beta_moment(a, b, x, j=1, k=0),
    lambda g, out, a, b, x: g * beta_moment(a, b, x, j=0, k=1),
    lambda g, out, a, b, x: g * _beta_density(a, b, x),
)
beta_moment: Recorded = _declared(
    "beta_moment",
    lambda g, out, a, b, x, *, j, k: g * _moments_in(a, b, x, j, k, True),
    lambda g, out, a, b, x, *, j, k: g * _moments_in(a, b, x, j, k, False),
    lambda g, out, a, b, x, *, j, k: (
        g
        * _beta_density(a, b, x)
        * (_log(x) - digamma(a) + digamma(a + b)) ** j
        * (_log(1.0 - x) - digamma(b) + digamma(a + b)) ** k
    ),
)


def _chi_squared(name: str, side: Recorded) -> Recorded:
    def function(v: Any, x: Any) -> Tensor:
        refuse_complex(name, **{"argument 1": v, "argument 2": x})
        v, x = _floats((v, x))
        return side(0.5 * v, 0.5 * x)

    return published(name, function, f"``{name}`` of `nbm_xp.special`, recorded.")


chdtr: Recorded = _chi_squared("chdtr", gammainc)
chdtrc: Recorded = _chi_squared("chdtrc", gammaincc)


def _student_density(df: Tensor, t: Tensor) -> Tensor:
    return exp(-betaln(0.5 * df, 0.5) - 0.5 * log(df) - 0.5 * (df + 1.0) * log1p(t * t / df))


def _student_in_df(df: Tensor, t: Tensor) -> Tensor:
    """Return the derivative of Student's t distribution function in its degrees of freedom."""
    a, spread = 0.5 * df, df + t * t
    in_shape = beta_moment(a, 0.5, df / spread, j=1, k=0)
    return -0.25 * sign(t) * in_shape - 0.5 * t * exp((a - 1.0) * log(df / spread) - betaln(a, 0.5) - 1.5 * log(spread))


stdtr: Recorded = _declared(
    "stdtr", lambda g, out, df, t: g * _student_in_df(df, t), lambda g, out, df, t: g * _student_density(df, t)
)
stdtrit: Recorded = _declared(
    "stdtrit",
    lambda g, out, df, p: -g * _student_in_df(df, out) / _student_density(df, out),
    lambda g, out, df, p: g / _student_density(df, out),
)


def _over_x(function: Callable[..., Tensor], x: Tensor, turn: float, scale: Callable[[Tensor], Any]) -> Tensor:
    """Return a Bessel function of order 1 divided by x; near 0 by its power series, whose derivatives are accurate."""
    near = abs(x) < 1.0
    s = where(near, x, 0.0)
    z = 0.25 * turn * s * s
    series: Any = 0.0
    for n in range(10, -1, -1):
        series = series * z + 0.5 / (math.factorial(n) * math.factorial(n + 1))
    return where(near, series * scale(s), function(x) / where(near, 1.0, x))


i0: Recorded = _declared("i0", lambda g, out, x: g * i1(x))
i0e: Recorded = _declared("i0e", lambda g, out, x: g * (i1e(x) - sign(x) * out))
i1: Recorded = _declared("i1", lambda g, out, x: g * (i0(x) - _over_x(i1, x, 1.0, lambda s: 1.0)))
i1e: Recorded = _declared(
    "i1e", lambda g, out, x: g * (i0e(x) - sign(x) * out - _over_x(i1e, x, 1.0, lambda s: exp(-abs(s))))
)
j0: Recorded = _declared("j0", lambda g, out, x: -g * j1(x))
j1: Recorded = _declared("j1", lambda g, out, x: g * (j0(x) - _over_x(j1, x, -1.0, lambda s: 1.0)))


def polygamma(n: Any, x: Any) -> Tensor:
    """Record ``polygamma`` of `nbm_xp.special`."""
    order = whole_number(n)
    if order is not None:
        return _polygamma(x, n=order) if order else digamma(x)
    n, x = _floats((n, x))
    higher = where(n > 0, n, 1.0)
    odd = 2.0 * (0.5 * higher - floor(0.5 * higher))
    value = (2.0 * odd - 1.0) * gamma(higher + 1.0) * _hurwitz_zeta(higher + 1.0, x)
    return where(n > 0, value, where(equal(n, 0.0), digamma(x), math.nan))


def zeta(x: Any, q: Any = None) -> Tensor:
    """Record ``zeta`` of `nbm_xp.special`."""
    return _riemann_zeta(x) if q is None else _hurwitz_zeta(x, q)
