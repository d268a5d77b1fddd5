"""`Engine`, the common base of a Backend's operations: it records and executes op-trees; and `RandomState`.

The mixin classes of a `Backend` derive from `Engine`. All random numbers come from MRG31k3p, like those of
`nbm_xp.rng.Generator`; `RandomState` provides them under the method names of NumPy's `RandomState`, which neon's data
and layers call.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from nbm_xp.functions.shaping import cast
from nbm_xp.namespace import asarray, is_array, is_bool, is_floating
from nbm_xp.rng import Generator
from nbm_xp.tape import Tensor, as_tensor
from nbm_xp.tape.dtypes import DType
from nbm_xp.tape.evaluation import computed

from .buffers import Buffer, check_real
from .optrees import OpTree, is_node, tree_of, weak

_WIDE = "float64"


class RandomState(Generator):
    """A random generator that draws NumPy arrays, or Python numbers if no shape is given.

    Created by `Backend.gen_rng`; also the attribute ``be.rng``.

    Examples
    --------
    >>> from nbm_xp.neon import Backend
    >>> rng = Backend(rng_seed=1, library="cpu").rng
    >>> rng.rand(2, 3).shape, type(rng.rand()), rng.randint(1, 2)
    ((2, 3), <class 'float'>, 1)
    """

    def rand(self, *shape: int) -> Any:
        """Draw from the uniform distribution between 0 and 1, as float64.

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
        """Draw from the uniform distribution between 0 and 1, as float64.

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
            The bounds, `low` inclusive, `high` exclusive. With one argument, it is `high`, and `low` is 0.
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
        """Seed the generator again.

        Parameters
        ----------
        seed : int, optional
            A non-negative seed. By default taken from the operating system.

        Raises
        ------
        TypeError, ValueError
            If `seed` is not an integer, or is negative.

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
        """Return the state, for `set_state`; the same as the attribute ``state``.

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
        """Restore a state returned by `get_state`.

        Parameters
        ----------
        state : tuple of int
            The state.

        Raises
        ------
        TypeError, ValueError
            If `state` is not a valid state.
        """
        self.state = state


def seed_of(seed: int | None) -> int | None:
    """Validate a seed.

    Raises
    ------
    TypeError, ValueError
        If `seed` is not an integer, or is negative.
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
    """Convert a draw without axes to a Python number."""
    return drawn if drawn.shape else drawn.item()


_METHODS = {
    "abs": "absolute", "div": "divide", "eq": "equal", "ge": "greater_equal", "gt": "greater", "le": "less_equal",
    "lt": "less", "mul": "multiply", "ne": "not_equal", "neg": "negative", "pow": "power", "sqr": "square",
    "sub": "subtract",
    **{name: name for name in (
        "add", "argmax", "argmin", "binarize", "dot", "exp", "exp2", "finite", "log", "log2", "max", "maximum", "min",
        "minimum", "rint", "safelog", "sgn", "shift", "sig", "sig2", "sqrt", "sum", "tanh", "tanh2",
    )},
}  # fmt: skip
"""The operations of neon's op-trees by name, and the methods that record them."""


class Engine:
    """Base class of a Backend's operations: it records and executes them and has their state.

    Attributes
    ----------
    xp : namespace
        Namespace of the array library `library`.
    dtype : DType
        The default dtype.
    bsz : int or None
        The batch size, or None until set.
    compat_mode : {None, "caffe"}
        "caffe" computes pooled output sizes as Caffe does.
    rng : RandomState
        The random generator; `init_rng_state` is its initial state.
    hist_bins, hist_offset : int
        The bins of histograms of magnitudes: ``hist_bins`` powers of two, starting at ``2 ** hist_offset``.
    """

    xp: Any
    library: str
    dtype: DType
    bsz: int | None
    compat_mode: str | None
    rng: RandomState
    init_rng_state: tuple[Any, ...]
    hist_bins: int = 64
    hist_offset: int = -48
    _counted: Buffer | None = None
    _tags: dict[str, int]

    # Methods of a Backend that op-trees and buffers call.
    array: Callable[..., Any]
    take: Callable[..., Any]
    count_magnitudes: Callable[..., Any]

    def record(self, function: Callable[..., Any], out: Buffer | None, *operands: Any, **options: Any) -> Any:
        """Record a function call: return its op-tree, or compute it into `out` and return `out`.

        Parameters
        ----------
        function : callable
            A function of arrays.
        out : Buffer or None
            Destination of the result.
        *operands
            Buffers, op-trees, arrays and numbers.
        **options
            Options of the function.
        """
        if out is not None and not isinstance(out, Buffer):
            raise TypeError(f"out must be a Buffer, got {type(out).__name__}")
        given = [x if isinstance(x, Tensor) else self._beside_tensors(x) for x in operands]
        if not any(isinstance(x, Tensor) for x in given):
            given[0] = self.operand(given[0])
        value = function(*given, **options)
        if is_bool(value):
            value = cast(value, self.dtype)
        tree = tree_of(value, self)
        if out is None:
            return tree
        self.assign_tree(out, tree, "what goes to out")
        return out

    def _beside_tensors(self, x: Any) -> Any:
        """Convert an operand that is not a Tensor: return numbers and arrays unchanged, lists as arrays."""
        return weak(x) if isinstance(x, (bool, int, float)) or is_array(x) else self.operand(x)

    def operand(self, x: Any) -> Tensor:
        """Convert an operand to a Tensor: arrays keep their dtype, numbers and lists get the default one.

        Nodes of neon's own op-trees are recorded.
        """
        if isinstance(x, Tensor):
            return x
        if is_array(x):
            return as_tensor(x)
        if is_node(x):
            return self.operation(*x)
        if not isinstance(x, (bool, int, float, list, tuple)):
            raise TypeError(f"an operand must be a buffer, an op-tree, an array or a number, got {x!r}")
        return as_tensor(asarray(x, self.xp, str(self.dtype)))

    def operation(self, op: dict[str, Any], a: Any, b: Any) -> OpTree:
        """Return the op-tree of an operation given in the form of neon's op-trees.

        Parameters
        ----------
        op : dict
            The operation's name, ``"op"``, and its options; ``"shape"`` is ignored.
        a, b : Buffer, OpTree, array, number or None
            The operands; None for a missing one.

        Raises
        ------
        ValueError
            If the operation is unknown.
        """
        name, options = op.get("op"), {key: value for key, value in op.items() if key not in ("op", "shape")}
        if name == "transpose":
            return tree_of(self.operand(a), self).T
        if name not in _METHODS:
            raise ValueError(f"op must be assign, transpose or one of {', '.join(_METHODS)}, got {name!r}")
        tree: OpTree = getattr(self, _METHODS[name])(*(x for x in (a, b) if x is not None), **options)
        return tree

    def floating(self, a: Any) -> Any:
        """Return an operand as floating point: integers are converted to the default dtype."""
        x = self.operand(a)
        return x if is_floating(x) else cast(x, self.dtype)

    def assign_tree(self, out: Buffer, tree: Tensor, name: str = "value") -> None:
        """Compute an op-tree into a buffer.

        Parameters
        ----------
        out : Buffer
            Destination. It may be an operand: the tree is computed before anything is stored.
        tree : Tensor
            An op-tree whose shape broadcasts to the shape of `out`.
        name : str
            The name of the value in error messages.

        Raises
        ------
        TypeError
            If the tree is complex; nothing is computed in that case.
        ValueError
            If the shapes do not fit; nothing is computed in that case.
        """
        if isinstance(tree, OpTree):
            tree = tree.for_shape(out.shape)
        check_real(tree)
        out.check_fits(tuple(map(int, tree.shape)), name)
        (value,) = computed("op-tree", [tree], [], lambda: [tree], other_numbers=True)
        out.write(value, fresh=True)

    def execute(self, node: OpTree) -> Buffer:
        """Execute an op-tree whose root is an assignment.

        Parameters
        ----------
        node : OpTree or tuple
            Assignment: ``OpTree({"op": "assign"}, out, tree)``, or the equivalent node of neon's own.

        Returns
        -------
        Buffer
            The buffer that is assigned to.

        Raises
        ------
        TypeError
            If `node` is not an op-tree.
        ValueError
            If its root is not an assignment.

        Examples
        --------
        >>> from nbm_xp.neon import Backend, OpTree
        >>> be = Backend(library="cpu")
        >>> x, out = be.ones((1, 2)), be.zeros((1, 2))
        >>> be.execute(OpTree({"op": "assign"}, out, x + x)).get()
        array([[2., 2.]], dtype=float32)
        """
        if is_node(node):
            node = OpTree(*node)
        if not isinstance(node, OpTree):
            raise TypeError(f"node must be an op-tree, got {type(node).__name__}")
        target = node.target
        if not isinstance(target, Buffer):
            raise ValueError("node must have an assignment at its top: assign it to a buffer, or call astensor()")
        self.assign_tree(target, node)
        return target
