"""`Backend`: neon's documented methods for one array library, assembled from mixin classes by subject."""

from __future__ import annotations

from typing import Any, ClassVar

from nbm_xp.namespace import backend as default_library
from nbm_xp.namespace import dtype_name, dtype_of, get_namespace, installed_libraries, library_name
from nbm_xp.namespace.errors import name_methods
from nbm_xp.namespace.libraries import ALIASES, LIBRARIES
from nbm_xp.tape.dtypes import as_dtype, float32

from .buffers import Buffer
from .convolutions import Convolutions
from .normalization import Normalization
from .observing import Observing
from .poolings import Poolings
from .products import Products
from .randomness import Randomness
from .unrolling import Unrolling

_FLOATING = ("float16", "float32", "float64")


class Backend(Convolutions, Normalization, Observing, Poolings, Products, Randomness, Unrolling):
    """Buffers, op-trees and layer operations for neon's models, on one array library.

    Parameters
    ----------
    rng_seed : int, optional
        Seed of the random generator; by default from the operating system.
    default_dtype : dtype
        The default dtype of buffers: float16, float32 or float64, as a name or as a dtype of any library.
    compat_mode : {None, "caffe"}
        Pooled output sizes: ``"caffe"`` computes them as Caffe does, None as neon does.
    deterministic : bool, optional
        Ignored: all results are deterministic.
    library : str, optional
        The array library: ``'cpu'``, ``'gpu'``, or a name that `nbm_xp.set_backend` accepts. Defaults to the configured
        library. Backends of several libraries can be used side by side.

    Attributes
    ----------
    bsz : int or None
        The batch size, which `iobuf` needs; None until set.
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
        If `default_dtype`, `compat_mode` or `library` is invalid.

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
    backends: ClassVar[dict[str, type[Backend]]] = {}
    """The backend class of each name, as in neon's own registry."""
    device_id: int = 0

    def __init__(
        self, rng_seed: int | None = None, default_dtype: Any = float32, compat_mode: str | None = None,
        deterministic: bool | None = None, *, library: str | None = None,
    ) -> None:  # fmt: skip
        try:
            kind = dtype_name(default_dtype)
        except TypeError:
            kind = None
        if kind not in _FLOATING:
            raise ValueError(f"default_dtype must be one of {', '.join(_FLOATING)}, got {default_dtype!r}")
        if compat_mode not in (None, "caffe"):
            raise ValueError(f"compat_mode must be None or 'caffe', got {compat_mode!r}")
        self.xp = get_namespace(default_library() if library is None else library)
        dtype_of(self.xp, kind)  # raises an error if the library lacks the dtype
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
        """Switch to Caffe's sizes of pooled outputs.

        Examples
        --------
        >>> be = Backend(library="cpu")
        >>> be.set_caffe_compat()
        >>> be.compat_mode
        'caffe'
        """
        self.compat_mode = "caffe"

    def check_caffe_compat(self) -> bool:
        """Return whether the sizes of pooled outputs are computed as Caffe does.

        Returns
        -------
        bool

        Examples
        --------
        >>> Backend(compat_mode="caffe", library="cpu").check_caffe_compat()
        True
        """
        return self.compat_mode == "caffe"

    @property
    def device_type(self) -> int:
        """0 for the CPU, 1 for a GPU; neon's data loaders read it."""
        return int(self.library == ALIASES["gpu"])

    @staticmethod
    def allocate_backend(name: Any, **kargs: Any) -> Backend:
        """Create a backend by name.

        Parameters
        ----------
        name : str
            Array library: ``'cpu'``, ``'gpu'``, or a name that `nbm_xp.set_backend` accepts.
        **kargs
            Further arguments of `Backend`.

        Returns
        -------
        Backend

        Raises
        ------
        ImportError
            If the library is not installed; the message names the package to install.
        ValueError
            If the name is unknown.

        Examples
        --------
        >>> from nbm_xp.neon import Backend
        >>> Backend.allocate_backend("cpu", rng_seed=3).library == Backend(library="cpu").library
        True
        """
        if not isinstance(name, str) or name not in Backend.backends:
            raise ValueError(f"name must be one of {', '.join(map(repr, Backend.backends))}; got {name!r}")
        return Backend.backends[name](library=name, **kargs)

    @staticmethod
    def backend_choices() -> list[str]:
        """Return the sorted names of the backends whose array libraries are installed.

        Returns
        -------
        list of str

        Examples
        --------
        >>> from nbm_xp.neon import Backend
        >>> "cpu" in Backend.backend_choices()
        True
        """
        installed = set(installed_libraries())
        return sorted(name for name in Backend.backends if ALIASES.get(name, name) in installed)


name_methods(Backend, checked=True)
Backend.backends.update(dict.fromkeys((*ALIASES, *LIBRARIES), Backend))
