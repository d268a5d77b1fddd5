"""A Backend's random numbers: those of MRG31k3p, the same bits on every library, from a state that can be saved."""

from __future__ import annotations

from typing import Any, ClassVar

from nbm_xp.functions import arithmetic
from nbm_xp.functions.comparison import less
from nbm_xp.namespace import host_namespace, library_name
from nbm_xp.rng import Generator
from nbm_xp.tape import Tensor
from nbm_xp.tape.graph import VARIABLE, leaf

from .buffers import Buffer
from .engine import Engine, RandomState, seed_of
from .layers import also_by_place

__all__ = ["Randomness"]


class Drawn:
    """The value of a tree's random numbers: drawn anew whenever the tree is computed."""

    __slots__ = ("engine", "shape")
    is_state: ClassVar[bool] = False
    default_update: ClassVar[None] = None

    def __init__(self, engine: Randomness, shape: tuple[int, ...]) -> None:
        self.engine = engine
        self.shape = shape

    @property
    def value(self) -> Any:
        """New uniforms."""
        return self.engine.uniforms(self.shape)


class Randomness(Engine):
    """A Backend's random numbers."""

    def gen_rng(self, seed: int | None = None) -> RandomState:
        """Start a new random generator, to whose state `rng_reset` goes back.

        Parameters
        ----------
        seed : int, optional
            Not negative. Without it, one is taken from the operating system.

        Returns
        -------
        RandomState
            The generator, also the attribute ``rng``. Its own methods give NumPy arrays.

        Raises
        ------
        TypeError, ValueError
            If `seed` is no integer, or negative.

        Examples
        --------
        >>> from nbm_xp.neon import Backend
        >>> be = Backend(library="cpu")
        >>> be.gen_rng(3) is be.rng
        True
        """
        self.rng = RandomState(seed_of(seed), library=library_name(host_namespace()))
        self.init_rng_state = self.rng_get_state(None)
        return self.rng

    @also_by_place("state", state=None)
    def rng_get_state(self, state: Any) -> tuple[Any, ...]:
        """The state of the random generator.

        Parameters
        ----------
        state
            Documented, but not used; may be omitted.

        Returns
        -------
        tuple
            For `rng_set_state`: it has one element, the generator's ``state`` on the host.

        Examples
        --------
        >>> from nbm_xp.neon import Backend
        >>> Backend(rng_seed=3, library="cpu").rng_get_state()
        ((940215292, 159044560, 675280326, 1622727473, 377049640, 748728830, 0),)
        """
        return (self.rng.state,)

    def rng_set_state(self, state: Any) -> None:
        """Set the state of the random generator, so that the same draws come again.

        Parameters
        ----------
        state : tuple
            What `rng_get_state` gave, of this backend or of another one, on whatever library.

        Raises
        ------
        TypeError, ValueError
            If it is no such state.

        Examples
        --------
        >>> from nbm_xp.neon import Backend
        >>> be = Backend(library="cpu")
        >>> state, mask = be.rng_get_state(), be.zeros((4, 4))
        >>> be.make_binary_mask(mask)
        >>> first = mask.get()
        >>> be.rng_set_state(state)
        >>> be.make_binary_mask(mask)
        >>> bool((mask.get() == first).all())
        True
        """
        single = isinstance(state, (tuple, list)) and len(state) == 1
        try:
            self.rng.state = state[0] if single else state
        except (TypeError, ValueError) as error:
            raise type(error)(f"state must be what rng_get_state gave, got {state!r}") from error

    def rng_reset(self) -> None:
        """Go back to the state that the random generator started from.

        Examples
        --------
        >>> from nbm_xp.neon import Backend
        >>> be = Backend(rng_seed=5, library="cpu")
        >>> be.make_binary_mask(be.zeros((2, 2)))
        >>> be.rng_reset()
        >>> be.rng_get_state()
        ((1603846563, 74054868, 2032457183, 304602446, 479530186, 1669176703, 0),)
        """
        self.rng_set_state(self.init_rng_state)

    def uniforms(self, shape: tuple[int, ...]) -> Any:
        """Uniforms between 0 and 1 in the default dtype, an array of the backend's library.

        Parameters
        ----------
        shape : tuple of int
            The shape of the array.

        Examples
        --------
        >>> from nbm_xp.neon import Backend
        >>> Backend(library="cpu").uniforms((2, 3)).shape
        (2, 3)
        """
        own = Generator(self.rng.state, library=self.library)
        drawn = own.random(shape, dtype=str(self.dtype))
        self.rng.state = own.state
        return drawn

    def random_tree(self, shape: tuple[int, ...]) -> Tensor:
        """A Tensor whose value is drawn anew whenever it is computed.

        Parameters
        ----------
        shape : tuple of int
            The shape of the draw.
        """
        return Tensor(leaf(VARIABLE, shape, len(shape), self.dtype, None, payload=Drawn(self, shape)))

    def make_binary_mask(self, out: Buffer, keepthresh: float = 0.5) -> None:
        """Draw a mask of ones and zeros, as dropout takes it.

        Parameters
        ----------
        out : Buffer
            Where the mask goes.
        keepthresh : float
            The probability of a one.

        Raises
        ------
        TypeError
            If `out` is no buffer, or `keepthresh` no number.
        ValueError
            If `keepthresh` is not between 0 and 1.

        Examples
        --------
        >>> from nbm_xp.neon import Backend
        >>> be = Backend(library="cpu")
        >>> mask = be.zeros((1, 3))
        >>> be.make_binary_mask(mask, keepthresh=1.0)
        >>> mask.get()
        array([[1., 1., 1.]], dtype=float32)
        """
        if not isinstance(out, Buffer):
            raise TypeError(f"out must be a Buffer, got {type(out).__name__}")
        if not isinstance(keepthresh, (int, float)):
            raise TypeError(f"keepthresh must be a number, got {keepthresh!r}")
        if not 0 <= keepthresh <= 1:
            raise ValueError(f"keepthresh must be between 0 and 1, got {keepthresh}")
        self.assign_tree(out, less(self.random_tree(out.shape), float(keepthresh)))

    @also_by_place("a, out, stochastic", lambda given: isinstance(given.get("out"), Buffer))
    def binarize(self, a: Any, stochastic: bool = True, out: Buffer | None = None) -> Any:
        """Each element as -1 or 1.

        Parameters
        ----------
        a : buffer, op-tree, array or number
            The operand.
        stochastic : bool
            Whether 1 comes with probability ``(a + 1) / 2``, between 0 and 1, drawn anew whenever the tree is computed;
            else it comes where `a` is 0 or more.
        out : Buffer, optional
            Where the result goes, cast to its dtype. Without it, the result is recorded. It may stand in the second
            place, ``binarize(a, out, stochastic=False)``, as neon's own layers have it.

        Returns
        -------
        OpTree or Buffer
            The tree, or `out`.

        Raises
        ------
        TypeError
            If `stochastic` is neither True nor False.

        Examples
        --------
        >>> from nbm_xp.neon import Backend
        >>> be = Backend(library="cpu")
        >>> be.binarize(be.array([[-0.5, 0.0, 2.0]]), stochastic=False).get()
        array([[-1.,  1.,  1.]], dtype=float32)
        """
        x = self.operand(a)
        if not stochastic:
            return self.record(arithmetic.binarize, out, x)
        shape = tuple(map(int, x.shape))
        return self.record(arithmetic.binarize, out, x, uniforms=self.random_tree(shape))

    def fill_normal(self, ary: Buffer, mean: float = 0.0, stdv: float = 1.0) -> None:
        """Fill a buffer with normally distributed random numbers.

        Parameters
        ----------
        ary : Buffer
            What is filled.
        mean, stdv : float
            Mean and standard deviation.

        Examples
        --------
        >>> from nbm_xp.neon import Backend
        >>> be = Backend(library="cpu")
        >>> x = be.zeros((2, 2))
        >>> be.fill_normal(x, mean=3.0, stdv=0.0)
        >>> x.get()
        array([[3., 3.],
               [3., 3.]], dtype=float32)
        """
        own = Generator(self.rng.state, library=self.library)
        ary.write(own.normal(mean, stdv, size=ary.shape, dtype=str(self.dtype)), fresh=True)
        self.rng.state = own.state
