"""What samplers are made with: the record of a distribution, uniforms with fine tails, rejection.

Contract: a sampler takes the uniforms of some elements and float64 parameters of shape (count,) or (1,), and gives a
number for each element, which follows from its own uniforms and parameters alone. The least distance of a uniform from
0, and from 1 too where it is folded, is 2**-62, so that tails go as far out as 2**62 numbers do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, Literal, TypeAlias

from nbm_xp.namespace import array_namespace, concrete_int, convert, dtype_of, put
from nbm_xp.namespace.compiling import is_traced, repeated
from nbm_xp.namespace.mrg31k3p.integers import OUTPUT_STEPS

from .. import recurrence
from ..elementary import cos, exp, log, log1p, sqrt
from ..rules import NOT_NEGATIVE, Rule, require, require_finite_in, require_together
from ..tasks import ElementUniforms
from ..uniforms import two_draws

__all__ = [
    "DISTRIBUTIONS", "Distribution", "any_of", "distribution", "exponential_number", "folded", "grown", "normal_number",
    "ones", "root", "scaled", "until_accepted", "which_of",
]  # fmt: skip

Sampler: TypeAlias = Callable[..., Any]
Kind: TypeAlias = Literal["real", "share", "tail", "count"]

_FEW: Final = 4096  # elements at most that are all tried again together, where some of them failed
_TRIES: Final = 1000  # no method here fails so often: less than one element in 10**100 would
_FARTHEST: Final = 700.0
_LARGE, _SMALL, _SCALE = 2.0**800, 2.0**-800, 2.0**400


DISTRIBUTIONS: Final[dict[str, Distribution]] = {}
"""By the name of the method of `Generator`."""


@dataclass(frozen=True)
class Distribution:
    """How the numbers of one distribution are made: called as its sampler.

    Parameters
    ----------
    name : str
        The name of the method of `Generator`.
    sample : callable
        ``sample(uniforms, *parameters)`` gives a float64 array of shape (count,).
    rules : dict
        What each parameter must be, in the order in which the sampler takes them.
    example : tuple of floats
        Parameters for which digests are recorded.
    kind : {"real", "share", "tail", "count"}
        Real numbers that grow with the parameters, which then are to be finite in the dtype asked for; numbers from
        0 to 1; numbers of which some may be beyond that dtype, and are infinite then; or counts, which it is to hold.
    linear : tuple of str
        The parameters of which the numbers are a linear function.
    together : Rule, optional
        What the parameters must be to one another.
    line : callable, optional
        ``line(xp, *parameters, dtype)``: `sample` makes a block of standard numbers, which are multiplied by the second
        value that this gives, and to which the first is added.
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
        """Numbers of parameters that are float64 arrays of shape (count,) or (1,)."""
        return self.sample(uniforms, *parameters)

    def derivative(self, parameter: str) -> Callable[[Sampler], Sampler]:
        """Declare a function as the sampler of the derivatives in a parameter."""
        return partial(self.derivatives.setdefault, parameter)

    def check(self, parameters: Iterable[Any], dtype: str, *, apart: bool = False) -> None:
        """Raise an error for parameters that break a rule or are not finite in a dtype; each `apart`, or all."""
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
    """Declare a function as the sampler of the distribution of its name: see `Distribution`."""
    return lambda sample: Distribution(sample.__name__, sample, rules, example, kind, linear, together, line)


def scaled(*example: float, **location: Rule) -> Callable[[Sampler], Distribution]:
    """Declare a function as the sampler of the standard numbers of a distribution of its name.

    They are multiplied by a parameter called ``scale``, and one before it, if it has a rule, is added.
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
    """The derivatives in a parameter that is added."""
    return uniforms.xp.ones((uniforms.count,), dtype=dtype_of(uniforms.xp, "float64"))


def folded(uniforms: ElementUniforms, j: int = 0) -> tuple[Any, Any]:
    """Whether a uniform of two is below a half, and how far from the nearer end it is."""
    high = uniforms.uniform(j)
    below = high < 0.5
    return below, two_draws(array_namespace(high).where(below, high, 1.0 - high), uniforms.uniform(j + 1))


def exponential_number(uniforms: ElementUniforms, j: int = 0) -> Any:
    """A standard exponential number of two uniforms, with all its digits near 0 as well as far out."""
    below, v = folded(uniforms, j)
    return -array_namespace(v).where(below, log(v), log1p(-v))


def normal_number(uniforms: ElementUniforms, j: int = 0) -> Any:
    """A standard normal number of three uniforms, by the method of Box and Muller: up to 9.2 standard deviations."""
    return sqrt(-2.0 * log(uniforms.fine(j))) * cos(uniforms.uniform(j + 2) * (2.0 * math.pi))


def grown(x: Any) -> Any:
    """The exponential; infinite where that is over 1e304.

    Examples
    --------
    >>> import numpy as np
    >>> grown(np.asarray([0.0, 1e6]))
    array([ 1., inf])
    """
    return array_namespace(x).where(x > _FARTHEST, math.inf, exp(x))


def root(x: Any) -> Any:
    """The square root of any number that is not negative.

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
    """Whether each condition holds anywhere: one question, since from a device each answer is copied to the host.

    While a library compiles, any may hold.
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


def until_accepted(
    uniforms: ElementUniforms, each: int, attempt: Callable[..., tuple[Any, Any]], *parameters: Any, own: str = ""
) -> Any:
    """Try again and again, each element with uniforms of its own, until it is accepted.

    Parameters
    ----------
    uniforms : ElementUniforms
        Of the elements.
    each : int
        How many uniforms an attempt takes: attempt ``t`` has numbers ``t * each`` and on.
    attempt : callable
        ``attempt(*uniforms, *parameters)`` gives values, and whether they are accepted.
    *parameters
        Arrays of shape (count,) or (1,).
    own : str, optional
        The name of the kernel that makes the same numbers of the parameters, where a library has it.

    Returns
    -------
    array
        Of shape (count,).
    """
    made = uniforms.own(own) if own else None
    if made is not None:
        return made(*parameters)
    xp, n = uniforms.xp, uniforms.count
    value, done = attempt(*map(uniforms.uniform, range(each)), *parameters)
    if is_traced([done]):
        return _retried(uniforms, each, attempt, parameters, value, done)
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
        spare = (1 << (left - 1).bit_length()) - left  # lengths that come again: some libraries compile for each
        places = xp.concat([places, xp.broadcast_to(places[:1], (spare,))]) if spare else places
        some = [parameter if parameter.shape[0] == 1 else xp.take(parameter, places) for parameter in parameters]
        again, fits = attempt(*(uniforms.uniform(j, places) for j in which), *some)
        value, done = put(value, places, again, 0), put(done, places, fits, 0)
    raise RuntimeError(f"{_TRIES} attempts were not enough for {left} elements")


def _retried(
    uniforms: ElementUniforms,
    each: int,
    attempt: Callable[..., tuple[Any, Any]],
    parameters: tuple[Any, ...],
    value: Any,
    done: Any,
) -> Any:
    """What `until_accepted` gives after a first attempt, in the loop of a library that compiles."""
    xp, steps = uniforms.xp, each * uniforms.step * OUTPUT_STEPS

    def unfinished(trial: Any, states: Any, value: Any, done: Any) -> Any:
        return (trial < _TRIES) & xp.any(~done)

    def step(trial: Any, states: Any, value: Any, done: Any) -> tuple[Any, ...]:
        states = recurrence.moved(xp, states, steps)
        own = replace(uniforms, _kept=[states])
        again, fits = attempt(*map(own.uniform, range(each)), *parameters)
        return trial + 1, states, xp.where(done, value, again), done | fits

    return repeated(unfinished, step, (1, convert(uniforms.states(), xp), value, done), xp)[2]
