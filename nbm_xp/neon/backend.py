"""`Backend`: neon's documented methods on one array library."""

from __future__ import annotations

from typing import Any

from nbm_xp.functions import arithmetic, linear_algebra, reductions
from nbm_xp.namespace import backend as default_library
from nbm_xp.namespace import dtype_name, dtype_of, get_namespace, library_name
from nbm_xp.tape.dtypes import as_dtype, float32

from .beyond import Beyond
from .buffers import Buffer
from .creation import Creation
from .elementwise import Elementwise
from .layer_operations import LayerOperations
from .observing import Observing
from .registry import Registry, register
from .selection import Selection

__all__ = ["Backend"]

_FLOATING = ("float16", "float32", "float64")


@register
class Backend(Creation, Elementwise, Beyond, Selection, LayerOperations, Observing, Registry):
    """What neon's models compute with: buffers, op-trees of them, and layer operations.

    Parameters
    ----------
    rng_seed : int, optional
        Where the random generator starts. Without it, a seed comes from the operating system.
    default_dtype : dtype
        Of buffers for which no other is asked: float16, float32 or float64, by name or as any library has it.
    compat_mode : {None, "caffe"}
        Whose sizes of pooled outputs are computed.
    deterministic : bool, optional
        Taken and not used: all is computed deterministically.
    library : str, optional
        The array library: ``'cpu'``, ``'gpu'``, or as `nbm_xp.set_backend` knows it. By default the configured one.
        Backends of several libraries live side by side.

    Attributes
    ----------
    bsz : int or None
        The number of examples in a batch, for `iobuf`; to be set.
    rng : nbm_xp.rng.Generator
        The random generator.
    library : str
        The name of the array library.
    default_dtype, compat_mode, rng_seed, deterministic
        As given.

    Raises
    ------
    ImportError
        If the library is not installed.
    ValueError
        If `default_dtype`, `compat_mode` or `library` is none of the above.

    References
    ----------
    .. [1] neon documentation, ``neon.backends.backend.Backend``.

    Examples
    --------
    >>> be = Backend(rng_seed=1, library="cpu")
    >>> w, x, out = be.ones((2, 3)), be.array([[1.0], [2.0], [3.0]]), be.zeros((2, 1))
    >>> out[:] = be.dot(w, x) * 2 + 1
    >>> out.get()
    array([[13.],
           [13.]], dtype=float32)
    """

    tensor_cls = Buffer

    def __init__(
        self,
        rng_seed: int | None = None,
        default_dtype: Any = float32,
        compat_mode: str | None = None,
        deterministic: bool | None = None,
        *,
        library: str | None = None,
    ) -> None:
        try:
            kind = dtype_name(default_dtype)
        except TypeError:
            kind = None
        if kind not in _FLOATING:
            raise ValueError(f"default_dtype must be one of {', '.join(_FLOATING)}, got {default_dtype!r}")
        if compat_mode not in (None, "caffe"):
            raise ValueError(f"compat_mode must be None or 'caffe', got {compat_mode!r}")
        self.xp = get_namespace(default_library() if library is None else library)
        dtype_of(self.xp, kind)  # refuses what the library lacks
        self.library = library_name(self.xp)
        self.default_dtype = default_dtype
        self.dtype = as_dtype(kind)
        self.compat_mode = compat_mode
        self.deterministic = deterministic
        self.bsz: int | None = None
        self.rng_seed = rng_seed
        self.gen_rng(rng_seed)

    def __repr__(self) -> str:
        return f"<Backend of {self.library}, {self.dtype}>"

    def set_caffe_compat(self) -> None:
        """Compute the sizes of pooled outputs as Caffe does.

        Examples
        --------
        >>> be = Backend(library="cpu")
        >>> be.set_caffe_compat()
        >>> be.compat_mode
        'caffe'
        """
        self.compat_mode = "caffe"

    def check_caffe_compat(self) -> bool:
        """Whether the sizes of pooled outputs are computed as Caffe does.

        Returns
        -------
        bool

        Examples
        --------
        >>> Backend(compat_mode="caffe", library="cpu").check_caffe_compat()
        True
        """
        return self.compat_mode == "caffe"

    def dot(self, a: Any, b: Any, out: Buffer | None = None) -> Any:
        """Matrix product.

        Parameters
        ----------
        a, b : buffer, op-tree or array
            The factors.
        out : Buffer, optional
            Where the result goes, cast to its dtype. Without it, the result is recorded.

        Returns
        -------
        OpTree or Buffer
            The tree, or `out`.

        Raises
        ------
        ValueError
            If there are not as many columns in `a` as rows in `b`.

        Examples
        --------
        >>> from nbm_xp.neon import Backend
        >>> be = Backend(library="cpu")
        >>> be.dot(be.array([[1.0, 2.0]]), be.array([[3.0], [4.0]])).get()
        array([[11.]], dtype=float32)
        """
        return self.record(linear_algebra.dot, out, a, b)

    def add_fc_bias(self, inputs: Buffer, bias: Any) -> None:
        """Add the bias of a fully connected layer to its outputs, in place.

        Parameters
        ----------
        inputs : Buffer
            Features by examples; written to.
        bias : buffer, op-tree or array
            A column.

        Examples
        --------
        >>> be = Backend(library="cpu")
        >>> x = be.zeros((2, 2))
        >>> be.add_fc_bias(x, be.array([1.0, 2.0]))
        >>> x.get()
        array([[1., 1.],
               [2., 2.]], dtype=float32)
        """
        self.record(arithmetic.add, _written("inputs", inputs), inputs, bias)

    def update_fc_bias(self, err: Any, out: Buffer) -> None:
        """Sum the errors of a fully connected layer over the examples: the gradient of its bias.

        Parameters
        ----------
        err : buffer, op-tree or array
            Features by examples.
        out : Buffer
            A column; written to.

        Examples
        --------
        >>> be = Backend(library="cpu")
        >>> out = be.zeros((2, 1))
        >>> be.update_fc_bias(be.ones((2, 3)), out)
        >>> out.get()
        array([[3.],
               [3.]], dtype=float32)
        """
        self.record(reductions.sum, _written("out", out), err, axis=1, keepdims=True)


def _written(name: str, buffer: Any) -> Buffer:
    if not isinstance(buffer, Buffer):
        raise TypeError(f"{name} must be a Buffer to write to, got {type(buffer).__name__}")
    return buffer
