"""A Backend's random numbers: MRG31k3p streams, the same bits on every library, with a state that can be saved."""

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


class Drawn:
    """The random numbers of an op-tree: new ones whenever the tree is computed."""

    __slots__ = ("engine", "shape")
    is_state: ClassVar[bool] = False
    default_update: ClassVar[None] = None

    def __init__(self, engine: Randomness, shape: tuple[int, ...]) -> None:
        self.engine = engine
        self.shape = shape

    @property
    def value(self) -> Any:
        """Draw new uniforms."""
        return self.engine.uniforms(self.shape)


class Randomness(Engine):
    """A Backend's random numbers."""

    def gen_rng(self, seed: int | None = None) -> RandomState:
        """Create a new random generator, whose initial state `rng_reset` restores.

        Parameters
        ----------
        seed : int, optional
            A non-negative seed. By default taken from the operating system.

        Returns
        -------
        RandomState
            The generator, also the attribute ``rng``. Its own methods return NumPy arrays.

        Raises
        ------
        TypeError, ValueError
            If `seed` is not an integer, or is negative.

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
        """Return the state of the random generator.

        Parameters
        ----------
        state
            Documented by neon, but ignored.

        Returns
        -------
        tuple
            The argument of `rng_set_state`: a tuple of one element, the generator's ``state``, on the host.

        Examples
        --------
        >>> from nbm_xp.neon import Backend
        >>> Backend(rng_seed=3, library="cpu").rng_get_state()
        ((940215292, 159044560, 675280326, 1622727473, 377049640, 748728830, 0),)
        """
        return (self.rng.state,)

    def rng_set_state(self, state: Any) -> None:
        """Set the state of the random generator, to repeat its draws.

        Parameters
        ----------
        state : tuple
            Result of `rng_get_state`, of any backend on any library.

        Raises
        ------
        TypeError, ValueError
            If `state` is not such a state.

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
        """Restore the initial state of the random generator.

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
        """Draw uniforms between 0 and 1 in the default dtype, as an array of the backend's library.

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
        """Return a Tensor whose value is drawn anew whenever it is computed.

        Parameters
        ----------
        shape : tuple of int
            Shape of the draw.
        """
        return Tensor(leaf(VARIABLE, shape, len(shape), self.dtype, None, payload=Drawn(self, shape)))

    def make_binary_mask(self, out: Buffer, keepthresh: float = 0.5) -> None:
        """Draw a mask of ones and zeros, for dropout.

        Parameters
        ----------
        out : Buffer
            Destination of the mask.
        keepthresh : float
            Probability of a one.

        Raises
        ------
        TypeError
            If `out` is not a buffer, or `keepthresh` is not a number.
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
        """Map each element to -1 or 1.

        Parameters
        ----------
        a : buffer, op-tree, array or number
            The operand.
        stochastic : bool
            Whether to draw: the result is 1 with probability ``(a + 1) / 2``, clipped to [0, 1], drawn anew whenever
            the tree is computed. Otherwise the result is 1 where ``a >= 0``.
        out : Buffer, optional
            Destination, to whose dtype the result is cast. Without it, the result is recorded. It may also be the
            second argument, ``binarize(a, out, stochastic=False)``, as neon's own layers call it.

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
            Destination.
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
