"""Tools of samplers: the record of a distribution, uniforms with fine tails, rejection.

Contract: a sampler takes the uniforms of some elements and float64 parameters of shape (count,) or (1,), and returns a
number for each element, which depends only on its own uniforms and parameters. The smallest distance of a uniform from
0, and for folded uniforms also from 1, is 2**-62, so that tails reach as far out as those of 2**62 numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, Literal, TypeAlias

from nbm_xp.namespace import array_namespace, asarray, concrete_int, dtype_of, put
from nbm_xp.namespace.compiling import is_traced, repeated
from nbm_xp.namespace.elementary import cos, exp, log, log1p, sqrt
from nbm_xp.namespace.mrg31k3p.integers import OUTPUT_STEPS

from .. import recurrence
from ..rules import NOT_NEGATIVE, Rule, require, require_finite_in, require_together
from ..tasks import ElementUniforms
from ..uniforms import two_draws

Sampler: TypeAlias = Callable[..., Any]
Kind: TypeAlias = Literal["real", "share", "tail", "count"]

_FEW: Final = 4096  # up to this number of elements, all are tried again if some are rejected
_TRIES: Final = 1000  # largest number of attempts; fewer than one element in 10**100 would need more
_FARTHEST: Final = 700.0
_LARGE, _SMALL, _SCALE = 2.0**800, 2.0**-800, 2.0**400


# Distributions by the name of their method of `Generator`.
DISTRIBUTIONS: Final[dict[str, Distribution]] = {}


@dataclass(frozen=True)
class Distribution:
    """A distribution, callable as its sampler.

    Parameters
    ----------
    name : str
        Name of the method of `Generator`.
    sample : callable
        ``sample(uniforms, *parameters)`` returns a float64 array of shape (count,).
    rules : dict
        Rule of each parameter, in the order of the sampler's parameters.
    example : tuple of floats
        Parameters for which digests are recorded.
    kind : {"real", "share", "tail", "count"}
        "real": real numbers that grow with the parameters, which must be finite in the dtype of the draw; "share":
        numbers of a bounded range; "tail": numbers that become infinite beyond the range of that dtype; "count":
        counts, which that dtype must hold.
    linear : tuple of str
        Parameters on which the numbers depend linearly.
    together : Rule, optional
        Rule that the parameters obey together.
    line : callable, optional
        ``line(xp, *parameters, dtype)`` returns a shift and a scale; `sample` then computes a block of standard
        numbers, which are multiplied by the scale and added to the shift.
    derivatives : dict
        By parameter, a sampler of the derivatives of the same numbers in it, at a fixed probability.
    """

    name: str
    sample: Sampler
    rules: dict[str, Rule]
    example: tuple[float, ...]
    kind: Kind = "real"
    linear: tuple[str, ...] = ()
    together: Rule | None = None
    line: Callable[..., tuple[Any, Any]] | None = None
    derivatives: dict[str, Sampler] = field(default_factory=dict)

    def __post_init__(self) -> None:
        DISTRIBUTIONS[self.name] = self

    def __call__(self, uniforms: ElementUniforms, *parameters: Any) -> Any:
        """Return numbers for parameters that are float64 arrays of shape (count,) or (1,)."""
        return self.sample(uniforms, *parameters)

    def derivative(self, parameter: str) -> Callable[[Sampler], Sampler]:
        """Declare a function as the sampler of the derivatives in a parameter."""
        return partial(self.derivatives.setdefault, parameter)

    def check(self, parameters: Iterable[Any], dtype: str, *, apart: bool = False) -> None:
        """Raise an error for parameters that break a rule, or are not finite in a dtype; skip `together` if `apart`."""
        named = dict(zip(self.rules, parameters, strict=True))
        for name, value in named.items():
            require(name, value, self.rules[name])
            if self.kind == "real":
                require_finite_in(dtype, name, value)
        if self.together is not None and not apart:
            require_together(self.together, named)


def distribution(
    example: tuple[float, ...],
    kind: Kind = "real",
    *,
    linear: tuple[str, ...] = (),
    together: Rule | None = None,
    line: Callable[..., tuple[Any, Any]] | None = None,
    **rules: Rule,
) -> Callable[[Sampler], Distribution]:
    """Declare a function as the sampler of the distribution with its name: see `Distribution`."""
    return lambda sample: Distribution(sample.__name__, sample, rules, example, kind, linear, together, line)


def scaled(*example: float, **location: Rule) -> Callable[[Sampler], Distribution]:
    """Declare a function as the sampler of the standard numbers of the distribution with its name.

    They are multiplied by a parameter ``scale``; a location parameter before it, if it has a rule, is added.
    """

    def declared(standard: Sampler) -> Distribution:
        def sample(uniforms: ElementUniforms, *line: Any) -> Any:
            x = standard(uniforms) * line[-1]
            return x + line[0] if location else x

        rules = location | {"scale": NOT_NEGATIVE}
        slopes = dict.fromkeys(location, ones) | {"scale": lambda uniforms, *line: standard(uniforms)}
        return Distribution(standard.__name__, sample, rules, example, linear=tuple(rules), derivatives=slopes)

    return declared


def ones(uniforms: ElementUniforms, *parameters: Any) -> Any:
    """Return the derivatives in a parameter that is added: ones."""
    return uniforms.xp.ones((uniforms.count,), dtype=dtype_of(uniforms.xp, "float64"))


def folded(uniforms: ElementUniforms, j: int = 0) -> tuple[Any, Any]:
    """Return whether a uniform of two outputs is below 0.5, and its distance from the nearer of 0 and 1."""
    high = uniforms.uniform(j)
    below = high < 0.5
    return below, two_draws(array_namespace(high).where(below, high, 1.0 - high), uniforms.uniform(j + 1))


def exponential_number(uniforms: ElementUniforms, j: int = 0) -> Any:
    """Return standard exponential numbers of two uniforms each, with full relative precision near 0 and in the tail."""
    below, v = folded(uniforms, j)
    return -array_namespace(v).where(below, log(v), log1p(-v))


def normal_number(uniforms: ElementUniforms, j: int = 0) -> Any:
    """Return standard normal numbers of three uniforms each, by Box and Muller's method, up to 9.2 in size."""
    return sqrt(-2.0 * log(uniforms.fine(j))) * cos(uniforms.uniform(j + 2) * (2.0 * math.pi))


def grown(x: Any) -> Any:
    """Return the exponential, infinite for arguments above 700.

    Examples
    --------
    >>> import numpy as np
    >>> grown(np.asarray([0.0, 1e6]))
    array([ 1., inf])
    """
    return array_namespace(x).where(x > _FARTHEST, math.inf, exp(x))


def root(x: Any) -> Any:
    """Return the square root of any non-negative number.

    Examples
    --------
    >>> import numpy as np
    >>> root(np.asarray([0.0, 4e-300, 4.0, 4e300]))
    array([0.e+000, 2.e-150, 2.e+000, 2.e+150])
    """
    xp = array_namespace(x)
    large, small = x > _LARGE, x < _SMALL
    scaled = sqrt(xp.where(large, x * (1.0 / _SCALE), xp.where(small, x, 1.0) * xp.where(small, _SCALE, x)))
    return xp.where(large, scaled * 2.0**200, xp.where(small, scaled * 2.0**-200, scaled))


def which_of(xp: Any, *conditions: Any) -> list[bool]:
    """Return whether each condition holds anywhere, with one copy from the device to the host for all of them.

    While a library compiles, the answers are True.
    """
    kind = dtype_of(xp, "int64")
    answers = sum(xp.astype(xp.any(condition), kind) * 2**k for k, condition in enumerate(conditions))
    if is_traced([answers]):
        return [True] * len(conditions)
    held = concrete_int(answers)
    return [bool(held >> k & 1) for k in range(len(conditions))]


def any_of(xp: Any, condition: Any) -> bool:
    """Whether a condition holds anywhere."""
    return which_of(xp, condition)[0]


def either(xp: Any, condition: Any, first: Callable[..., Any], second: Callable[..., Any], *asked: Any) -> Any:
    """Return ``where(condition, first(), second(*answers))``; a method that no element needs is not called.

    The answers say of each condition in `asked` whether it holds anywhere.
    """
    some, others, *answers = which_of(xp, condition, ~condition, *asked)
    if not (some and others):
        return first() if some else second(*answers)
    return xp.where(condition, first(), second(*answers))


def until_accepted(
    uniforms: ElementUniforms, each: int, attempt: Callable[..., tuple[Any, Any]], *parameters: Any, own: str = ""
) -> Any:
    """Repeat attempts with further uniforms of each element until all elements are accepted.

    Parameters
    ----------
    uniforms : ElementUniforms
        Uniforms of the elements.
    each : int
        Number of uniforms of an attempt: attempt ``t`` takes uniforms ``t * each`` and on.
    attempt : callable
        ``attempt(*uniforms, *parameters)`` returns values, and whether they are accepted.
    *parameters
        Arrays of shape (count,) or (1,).
    own : str, optional
        Name of the kernel that computes the same numbers from the parameters, if the library has it.

    Returns
    -------
    array
        Accepted values, of shape (count,).
    """
    made = uniforms.own(own) if own else None
    if made is not None:
        return made(*parameters)
    xp, n = uniforms.xp, uniforms.count
    value, done = attempt(*map(uniforms.uniform, range(each)), *parameters)

    def unfinished(trial: Any, states: Any, value: Any, done: Any) -> Any:
        return (trial < _TRIES) & xp.any(~done)

    def step(trial: Any, states: Any, value: Any, done: Any) -> tuple[Any, ...]:
        states = recurrence.moved(xp, states, each * uniforms.step * OUTPUT_STEPS)
        own = replace(uniforms, _kept=[states])
        again, fits = attempt(*map(own.uniform, range(each)), *parameters)
        return trial + 1, states, xp.where(done, value, again), done | fits

    if is_traced([done]):
        return repeated(unfinished, step, (1, asarray(uniforms.states(), xp), value, done), xp)[2]
    for trial in range(1, _TRIES):
        left = n - concrete_int(xp.sum(xp.astype(done, dtype_of(xp, "int64"))))
        if not left:
            return value
        which = range(trial * each, (trial + 1) * each)
        if n <= _FEW or 4 * left > n:
            again, fits = attempt(*map(uniforms.uniform, which), *parameters)
            value, done = xp.where(done, value, again), done | fits
            continue
        places = xp.nonzero(~done)[0]
        spare = (1 << (left - 1).bit_length()) - left  # to a power of two: some libraries compile per length
        places = xp.concat([places, xp.broadcast_to(places[:1], (spare,))]) if spare else places
        some = [parameter if parameter.shape[0] == 1 else xp.take(parameter, places) for parameter in parameters]
        again, fits = attempt(*(uniforms.uniform(j, places) for j in which), *some)
        value, done = put(value, places, again, 0), put(done, places, fits, 0)
    raise RuntimeError(f"{_TRIES} attempts were not enough for {left} elements")
