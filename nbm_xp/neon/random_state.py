"""A Backend's generator under the names that NumPy's `RandomState` has, by which neon's data and layers draw.

All numbers are MRG31k3p's, as those of `nbm_xp.rng.Generator`, whose further methods are here too.
"""

from __future__ import annotations

import operator
from typing import Any

from nbm_xp.rng import Generator

__all__ = ["RandomState", "seed_of"]

_WIDE = "float64"


class RandomState(Generator):
    """A random generator that draws NumPy arrays; without a shape, Python's numbers.

    Made by `Backend.gen_rng`, as ``be.rng``.

    Examples
    --------
    >>> from nbm_xp.neon import Backend
    >>> rng = Backend(rng_seed=1, library="cpu").rng
    >>> rng.rand(2, 3).shape, type(rng.rand()), rng.randint(1, 2)
    ((2, 3), <class 'float'>, 1)
    """

    def rand(self, *shape: int) -> Any:
        """Draw uniforms between 0 and 1, as float64.

        Parameters
        ----------
        *shape : int
            Lengths of the axes.

        Examples
        --------
        >>> from nbm_xp.neon import Backend
        >>> Backend(library="cpu").rng.rand(2, 3).dtype
        dtype('float64')
        """
        return _number(self.random(shape, _WIDE))

    def random_sample(self, size: Any = None) -> Any:
        """Draw uniforms between 0 and 1, as float64.

        Parameters
        ----------
        size : int or tuple of int, optional
            The shape.

        Examples
        --------
        >>> from nbm_xp.neon import Backend
        >>> Backend(library="cpu").rng.random_sample(3).shape
        (3,)
        """
        return _number(self.random(() if size is None else size, _WIDE))

    def randn(self, *shape: int) -> Any:
        """Draw from the standard normal distribution, as float64.

        Parameters
        ----------
        *shape : int
            Lengths of the axes.

        Examples
        --------
        >>> from nbm_xp.neon import Backend
        >>> Backend(library="cpu").rng.randn(2, 3).shape
        (2, 3)
        """
        return _number(self.standard_normal(shape, _WIDE))

    def randint(self, low: Any, high: Any = None, size: Any = None, dtype: Any = "int64") -> Any:
        """Draw integers.

        Parameters
        ----------
        low, high : int or array of int
            The bounds, of which the first alone is included. With one alone, it is the upper one, and the lower one 0.
        size : int or tuple of int, optional
            The shape.
        dtype : str
            The dtype.

        Examples
        --------
        >>> from nbm_xp.neon import Backend
        >>> sorted(set(Backend(library="cpu").rng.randint(2, size=99).tolist()))
        [0, 1]
        """
        return _number(self.integers(low, high, size, dtype))

    def seed(self, seed: int | None = None) -> None:
        """Start anew.

        Parameters
        ----------
        seed : int, optional
            Not negative. Without it, one is taken from the operating system.

        Raises
        ------
        TypeError, ValueError
            If it is no integer, or negative.

        Examples
        --------
        >>> from nbm_xp.neon import Backend
        >>> one, other = (Backend(rng_seed=seed, library="cpu").rng for seed in (1, 2))
        >>> other.seed(1)
        >>> one.rand() == other.rand()
        True
        """
        self.state = type(self)(seed_of(seed)).state

    def get_state(self) -> tuple[int, ...]:
        """The state, for `set_state`; the same as the attribute ``state``.

        Examples
        --------
        >>> from nbm_xp.neon import Backend
        >>> rng = Backend(library="cpu").rng
        >>> state, number = rng.get_state(), rng.rand()
        >>> rng.set_state(state)
        >>> rng.rand() == number
        True
        """
        return self.state

    def set_state(self, state: Any) -> None:
        """Go to a state that `get_state` gave.

        Parameters
        ----------
        state : tuple of int
            The state.

        Raises
        ------
        TypeError, ValueError
            If it is no state.
        """
        self.state = state


def seed_of(seed: int | None) -> int | None:
    """A seed of the generator, checked.

    Raises
    ------
    TypeError, ValueError
        If it is no integer, or negative.
    """
    if seed is None:
        return None
    try:
        number = operator.index(seed)
    except TypeError:
        raise TypeError(f"seed must be an integer or None, got {seed!r}") from None
    if number < 0:
        raise ValueError(f"seed must not be negative, got {number}")
    return number


def _number(drawn: Any) -> Any:
    """A draw without axes as a number of Python's."""
    return drawn if drawn.shape else drawn.item()
