"""Draws whose elements are made each on its own, as tasks: on Dask one for each block, elsewhere one for all.

Contract: a task holds the seed, the place and the shape, and parameters that are numbers;
parameters that are arrays come to it block by block. It is the same work wherever it is done.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from nbm_xp.namespace import (
    Derivatives,
    asarray,
    dtype_name,
    dtype_of,
    from_blocks,
    get_namespace,
    is_array,
    is_lazy,
    promote_types,
    wide_dtypes,
    with_derivatives,
)
from nbm_xp.namespace.compiling import strictly_rounded
from nbm_xp.namespace.kernels import kernel
from nbm_xp.namespace.memory import joined
from nbm_xp.namespace.mrg31k3p.integers import Followed
from nbm_xp.namespace.refusals import refuse_lack

from ..parameters import LARGEST
from ..rules import TRIALS, Rule, check_weights, finite_in, require, require_held, require_together
from ..uniforms import HOST
from . import whole_numbers
from .element_uniforms import ElementUniforms, of_block
from .gradients import DERIVATIVES, is_linear
from .rejection import large_binomial
from .table import DISTRIBUTIONS

__all__ = ["Elements", "Independent", "Integers", "Multinomials", "Outcomes", "made", "watched"]

_STRETCH: Final = 2**17  # elements at most, whose float64 arrays are a megabyte


@dataclass(frozen=True, slots=True)
class Elements:
    """Elements of one draw.

    Parameters
    ----------
    state : six ints, or six arrays without axes
        The state of the first stream.
    whole : tuple of ints
        The shape of the whole draw.
    dtype : str
        The dtype of the answer.
    library : str
        The library of the blocks.
    numbers : tuple
        The parameters that are numbers; None for those that come as blocks.
    threads : int
        How many threads work side by side on a NumPy array.
    """

    state: Followed
    whole: tuple[int, ...]
    dtype: str
    library: str
    numbers: tuple[Any, ...] = ()
    threads: int = 1

    def uniforms(self, offset: tuple[int, ...], shape: tuple[int, ...]) -> ElementUniforms:
        """Give the uniforms of the elements of a block."""
        return of_block(self.state, self.whole, offset, shape, self.library)

    def __call__(self, offset: tuple[int, ...], shape: tuple[int, ...], *arrays: Any) -> Any:
        """Make a block, of some shape, that begins at some place."""
        raise NotImplementedError(f"{type(self).__name__} is what tasks have in common")

    def columns(self, shape: tuple[int, ...], blocks: tuple[Any, ...], dtype: str) -> list[Any]:
        """The parameters as arrays of shape (count,) or (1,)."""
        xp, waiting = get_namespace(self.library), iter(blocks)
        columns = []
        for number in self.numbers:
            if number is not None:
                columns.append(asarray([number], xp, dtype))
                continue
            block = xp.astype(next(waiting), dtype_of(xp, dtype))
            columns.append(xp.reshape(xp.broadcast_to(block, shape), (-1,)))
        return columns

    def sampled(self, sample: Callable[..., Any], uniforms: ElementUniforms, *columns: Any) -> Any:
        """What ``sample(uniforms, *columns)`` makes, a stretch at a time, which stays in the processor's caches."""
        if self.library != HOST or uniforms.count < 2 * _STRETCH:
            return sample(uniforms, *columns)
        xp, streams = get_namespace(self.library), uniforms.streams
        length = max(1, _STRETCH // streams) * streams  # whole steps

        def made_of(stretch: tuple[int, ElementUniforms]) -> Any:
            begin, part = stretch
            own = (column if column.shape[0] == 1 else column[begin : begin + part.count] for column in columns)
            return sample(part, *own)

        stretches = uniforms.stretches(length if length <= _STRETCH else _STRETCH)
        if self.threads == 1:
            return joined(xp, uniforms.count, self.dtype, map(made_of, stretches))
        with ThreadPoolExecutor(self.threads) as pool:
            return joined(xp, uniforms.count, self.dtype, pool.map(made_of, stretches))

    def held(self, sample: Callable[..., Any], uniforms: ElementUniforms, *columns: Any) -> Any:
        """The counts that ``sample(uniforms, *columns)`` makes, which the dtype asked for must hold."""
        x = sample(uniforms, *columns)
        require_held(x, self.dtype)
        return x

    def bounded(self, sample: Callable[..., Any], uniforms: ElementUniforms, *columns: Any) -> Any:
        """The numbers that ``sample(uniforms, *columns)`` makes; infinite beyond the dtype asked for."""
        x = sample(uniforms, *columns)
        xp, most = get_namespace(self.library), LARGEST[self.dtype]
        return xp.where(x > most, xp.inf, xp.where(x < -most, -xp.inf, x))

    def derivatives(self) -> Derivatives | None:
        """The derivatives in the parameters that come as blocks; None where the library differentiates step by step."""
        return None

    def differentiated(self, k: int, dtype: str) -> Elements:
        """What makes the derivatives in the k-th parameter that comes as blocks, which has some dtype."""
        raise NotImplementedError(f"{type(self).__name__} has no derivatives")

    def derivative(self, k: int, *arrays: Any) -> Any:
        """The derivatives in the k-th of the parameters that come as blocks."""
        return self.differentiated(k, dtype_name(arrays[k]))((0,) * len(self.whole), self.whole, *arrays)

    def finished(self, x: Any, shape: tuple[int, ...]) -> Any:
        """The answer in its shape and dtype."""
        xp = get_namespace(self.library)
        return xp.astype(xp.reshape(x, shape), dtype_of(xp, self.dtype), copy=False)


def _at_once(sample: Callable[..., Any], *arguments: Any) -> Any:
    return sample(*arguments)


@dataclass(frozen=True, slots=True)
class Independent(Elements):
    """Numbers of one of the distributions in the table.

    Parameters
    ----------
    name : str
        Of which.
    differentiated_in : str, optional
        A parameter: then what is made are the derivatives of the numbers in it.
    """

    name: str = ""
    differentiated_in: str = ""

    def array_names(self) -> tuple[str, ...]:
        """What the parameters are called that come as blocks."""
        named = zip(DISTRIBUTIONS[self.name].rules, self.numbers, strict=True)
        return tuple(name for name, number in named if number is None)

    def derivatives(self) -> Derivatives:
        """The derivatives in the parameters that come as blocks."""
        names = self.array_names()
        own = self.derivative if self.name in DERIVATIVES else None
        return Derivatives(f"the {self.name} distribution", names, own, is_linear(self.name, names))

    def differentiated(self, k: int, dtype: str) -> Independent:
        """What makes the derivatives in the k-th parameter that comes as blocks, in the wider of the two dtypes."""
        wider = promote_types(self.dtype, dtype) if dtype in LARGEST else self.dtype
        return replace(self, differentiated_in=self.array_names()[k], dtype=wider)

    def __call__(self, offset: tuple[int, ...], shape: tuple[int, ...], *blocks: Any) -> Any:
        """Make a block, of some shape, that begins at some place."""
        distribution, xp = DISTRIBUTIONS[self.name], get_namespace(self.library)
        if 0 in shape:
            return xp.zeros(shape, dtype=dtype_of(xp, self.dtype))
        with wide_dtypes(xp):
            parameters = self.columns(shape, blocks, "float64")
            for (name, rule), number, parameter in zip(
                distribution.rules.items(), self.numbers, parameters, strict=True
            ):
                if number is None:
                    require(name, parameter, rule)
                    if distribution.kind == "real":
                        require(f"{name} in {self.dtype}", parameter, finite_in(self.dtype))
            if distribution.together is not None:
                require_together(dict(zip(distribution.rules, parameters, strict=True)), distribution.together)
            sampled = self.sampled if distribution.steps == "many" or self.threads > 1 else _at_once
            sample = distribution.sample
            if self.differentiated_in:
                sample = partial(self.bounded, DERIVATIVES[self.name][self.differentiated_in])
            elif distribution.kind == "count" or (distribution.kind == "tail" and self.dtype != "float64"):
                sample = partial(self.held if distribution.kind == "count" else self.bounded, sample)
            return self.finished(sampled(sample, self.uniforms(offset, shape), *parameters), shape)


@dataclass(frozen=True, slots=True)
class Integers(Elements):
    """Integers from one bound, included, to another; `numbers` are the lower bound and how many there are."""

    def __call__(self, offset: tuple[int, ...], shape: tuple[int, ...], *blocks: Any) -> Any:
        """Make a block, of some shape, that begins at some place."""
        xp = get_namespace(self.library)
        if 0 in shape:
            return xp.zeros(shape, dtype=dtype_of(xp, self.dtype))
        with wide_dtypes(xp):
            uniforms, (low, span) = self.uniforms(offset, shape), self.numbers
            sampled = self.sampled if self.dtype != "int64" or self.threads > 1 else _at_once
            if span is not None and span > whole_numbers.SPAN_OF_TWO:
                wide = partial(whole_numbers.wide_integers, low=low, span=span)
                return self.finished(sampled(wide, uniforms), shape)
            own = kernel("rng.whole_digits", self.library)
            if own is not None and not blocks and uniforms.is_whole and whole_numbers.hardly_refused(span, uniforms.n):
                drawn = own(uniforms.states(), uniforms.n, low, span, self.dtype, self.threads)
                if drawn is not None:
                    return xp.reshape(drawn, shape)
            columns = self.columns(shape, blocks, "int64")
            return self.finished(sampled(whole_numbers.integers, uniforms, *columns), shape)


@dataclass(frozen=True, slots=True)
class Outcomes(Elements):
    """Outcomes by probabilities: one row of them for all elements, or a row for each."""

    name: str = ""

    def derivatives(self) -> Derivatives:
        """None there are."""
        return Derivatives("the categorical distribution", (self.name,))

    def __call__(self, offset: tuple[int, ...], shape: tuple[int, ...], p: Any) -> Any:
        """Make a block, of some shape, that begins at some place; `p` is whole."""
        xp = get_namespace(self.library)
        if 0 in shape:
            return xp.zeros(shape, dtype=dtype_of(xp, self.dtype))
        check_weights(self.name, p)
        with wide_dtypes(xp):
            p = xp.astype(p, dtype_of(xp, "float64"))
            if p.ndim > 1:
                spans = tuple(slice(begin, begin + length) for begin, length in zip(offset, shape, strict=True))
                p = xp.broadcast_to(p, (*self.whole, p.shape[-1]))[(*spans, slice(None))]
                p = xp.reshape(p, (-1, p.shape[-1]))
            return self.finished(whole_numbers.outcomes(self.uniforms(offset, shape), whole_numbers.levels(p)), shape)


@dataclass(frozen=True, slots=True)
class Multinomials(Elements):
    """How often each outcome came in some trials; `whole` has the outcomes along its last axis.

    Each outcome's count is binomial, given those before it.
    """

    name: str = "pvals"

    def derivatives(self) -> Derivatives:
        """None there are."""
        names = ("n", self.name) if self.numbers[0] is None else (self.name,)
        return Derivatives("the multinomial distribution", names)

    def __call__(self, offset: tuple[int, ...], shape: tuple[int, ...], *blocks: Any) -> Any:
        """Make a block, of some shape, that begins at some place and has all outcomes."""
        xp, rows, outcomes = get_namespace(self.library), shape[:-1], shape[-1]
        if 0 in shape:
            return xp.zeros(shape, dtype=dtype_of(xp, self.dtype))
        *_, p = blocks
        check_weights(self.name, p)
        uniforms = of_block(self.state, self.whole[:-1], offset[:-1], rows, self.library)
        with wide_dtypes(xp):
            trials = self.numbers[0]
            left = asarray(trials, xp, "float64") if trials is not None else blocks[0][..., 0]
            if trials is None:
                require("n", left, TRIALS)
            left = xp.reshape(xp.broadcast_to(xp.astype(left, dtype_of(xp, "float64")), rows), (-1,))
            p = xp.reshape(xp.broadcast_to(xp.astype(p, dtype_of(xp, "float64")), shape), (-1, outcomes))
            sums = xp.astype(whole_numbers.levels(p), p.dtype)
            counts, over = [], sums[:, -1]
            for k in range(outcomes - 1):
                own = sums[:, k] - (sums[:, k - 1] if k else 0.0)
                share = xp.where(over > 0.0, own / xp.where(over > 0.0, over, 1.0), 0.0)
                counts.append(large_binomial(uniforms.every(k, outcomes), left, xp.minimum(share, 1.0)))
                left, over = left - counts[-1], over - own
            together = xp.stack([*counts, left], axis=-1)
            require_held(together, self.dtype)
            return self.finished(together, shape)


def made(
    xp: Any, task: Elements, parameters: tuple[Any, ...] = (), *, chunks: Any = None, args: tuple[Any, ...] = ()
) -> Any:
    """Do the work of a task: at once, or on Dask when the array is computed.

    Parameters
    ----------
    xp : namespace
        The library of the array.
    task : Elements
        The work.
    parameters : tuple of numbers and arrays
        The arrays among them are handed to the task block by block.
    chunks : optional
        How Dask splits the array.
    args : tuple of arrays
        Handed over whole.

    Returns
    -------
    array
    """
    blocks = [parameter for parameter in parameters if is_array(parameter)]
    if not is_lazy(xp):
        try:
            draw, arrays = partial(strictly_rounded(task, xp), (0,) * len(task.whole), task.whole), (*blocks, *args)
            return with_derivatives(draw, arrays, task.derivatives)
        except AttributeError as error:
            refuse_lack(error)
    home = get_namespace(task.library)
    meta = home.zeros((0,) * len(task.whole), dtype=dtype_of(home, task.dtype))
    return from_blocks(
        xp,
        task,
        task.whole,
        task.dtype,
        "auto" if chunks is None else chunks,
        blocks=blocks,
        args=args,
        name=type(task).__name__.lower(),
        meta=meta,
    )


@dataclass(frozen=True, slots=True)
class _Watched:
    """A block as it is, once its values are known to be allowed."""

    name: str
    rule: Rule

    def __call__(self, offset: tuple[int, ...], shape: tuple[int, ...], block: Any) -> Any:
        require(self.name, block, self.rule)
        return block


def watched(xp: Any, name: str, value: Any, rule: Rule, beside: Any = None) -> Any:
    """A parameter of which each block is held to a rule when it is computed; a number as it is.

    Parameters
    ----------
    xp : namespace
        Dask's.
    name : str
        What the parameter is called.
    value : number or Dask array
        What it is.
    rule : Rule
        What it must be.
    beside : Dask array, optional
        An array to which it broadcasts, and as which it is to be split.
    """
    if not is_array(value):
        return value
    meta, chunks = getattr(value, "_meta", None), value.chunks
    if beside is not None:
        lengths = zip(value.shape, beside.chunks[beside.ndim - value.ndim :], strict=True)
        chunks = tuple((1,) if length == 1 else sizes for length, sizes in lengths)
    return from_blocks(
        xp,
        _Watched(name, rule),
        value.shape,
        dtype_name(value),
        chunks,
        blocks=(value,),
        name="watched",
        meta=meta,
    )
