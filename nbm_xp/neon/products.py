"""Matrix products, biases and embedding gradients of buffers, computed by `nbm_xp.functions`."""

from __future__ import annotations

from typing import Any

from nbm_xp.functions import arithmetic, linear_algebra, reductions
from nbm_xp.functions.compound import batched_product, compound_product, lookup_gradient, sums_by_map
from nbm_xp.namespace import is_integer

from .buffers import Buffer
from .engine import Engine
from .layers import Target, also_by_place, factors, value_of, whole


def _matrix(x: Any, name: str) -> tuple[int, int]:
    if x.ndim != 2:
        raise ValueError(f"{name} must be a matrix, got shape {tuple(x.shape)}")
    return x.shape[0], x.shape[1]


def _exactly(engine: Engine, x: Any, name: str, shape: tuple[int, ...]) -> Target:
    """Return the destination buffer of exactly the given shape."""
    if isinstance(x, Buffer) and x.shape != shape:
        raise ValueError(f"{name} must have shape {shape}, got {x.shape}")
    return Target(engine, x, name, shape)


def _written(name: str, buffer: Any) -> Buffer:
    if not isinstance(buffer, Buffer):
        raise TypeError(f"{name} must be a Buffer to write to, got {type(buffer).__name__}")
    return buffer


class Products(Engine):
    """A Backend's products, biases and gradients of embeddings."""

    def dot(self, a: Any, b: Any, out: Buffer | None = None) -> Any:
        """Compute a matrix product.

        Parameters
        ----------
        a, b : buffer, op-tree or array
            The factors.
        out : Buffer, optional
            Destination, to whose dtype the result is cast. Without it, the product is recorded.

        Returns
        -------
        OpTree or Buffer
            The tree, or `out`.

        Raises
        ------
        ValueError
            If the number of columns of `a` differs from the number of rows of `b`.

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
            Outputs, features by examples; modified in place.
        bias : buffer, op-tree or array
            The bias, a column.

        Examples
        --------
        >>> from nbm_xp.neon import Backend
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
            Errors, features by examples.
        out : Buffer
            Destination of the sums, a column.

        Examples
        --------
        >>> from nbm_xp.neon import Backend
        >>> be = Backend(library="cpu")
        >>> out = be.zeros((2, 1))
        >>> be.update_fc_bias(be.ones((2, 3)), out)
        >>> out.get()
        array([[3.],
               [3.]], dtype=float32)
        """
        self.record(reductions.sum, _written("out", out), err, axis=1, keepdims=True)

    @also_by_place("A, B, C, alpha, beta, relu, bsum, repeat")
    def compound_dot(
        self, A: Buffer, B: Buffer, C: Buffer, alpha: float = 1.0, beta: float = 0.0, relu: bool = False, *,
        bsum: Buffer | None = None, repeat: int = 1,
    ) -> Buffer:  # fmt: skip
        """Set C to ``alpha · A @ B``, rectified if `relu`, plus ``beta · C``.

        Parameters
        ----------
        A, B : buffer or op-tree
            Matrices, of shapes (rows, inner) and (inner, columns); either may be transposed, as ``A.T``.
        C : buffer
            Destination, of shape (rows, columns). Its previous values are used only if `beta` is not 0.
        alpha, beta : float
            Factors of the product and of the previous values of C.
        relu : bool
            Whether to replace negative products by 0.
        bsum : buffer, optional
            Destination of the sum of each row of C, of shape (rows, 1).
        repeat : int
            Number of repetitions.

        Returns
        -------
        buffer
            C.

        Raises
        ------
        TypeError
            If an operand is not a buffer of numbers.
        ValueError
            If shapes do not match. Nothing is written in that case.

        Examples
        --------
        >>> from nbm_xp.neon import Backend
        >>> be = Backend(library="cpu")
        >>> A, C = be.array([[1, 2], [3, 4]]), be.ones((2, 2))
        >>> be.compound_dot(A.T, A, C, beta=-1.0).get()
        array([[ 9., 13.],
               [13., 19.]], dtype=float32)
        """
        a, b = value_of(self, A, "A"), value_of(self, B, "B")
        (rows, inner), (count, columns) = _matrix(a, "A"), _matrix(b, "B")
        if inner != count:
            raise ValueError(f"B must have {inner} rows, as A has columns, got shape {tuple(b.shape)}")
        target = _exactly(self, C, "C", (rows, columns))
        sums = None if bsum is None else Target(self, bsum, "bsum", (rows, 1))
        alpha, beta = factors(alpha, beta)
        for _ in range(whole(repeat, "repeat")):
            value = compound_product(a, b, target.present(beta), alpha, beta, relu=relu)
            if sums is not None:
                sums.write(sums_by_map(value, rows))
            target.write(value, fresh=True)
        return C

    def batched_dot(
        self, A: Buffer, B: Buffer, C: Buffer, alpha: float = 1.0, beta: float = 0.0, relu: bool = False
    ) -> Buffer:
        """Set C to ``alpha`` times several matrix products, rectified if `relu`, plus ``beta · C``.

        Parameters
        ----------
        A : buffer or op-tree
            A matrix (K, C), possibly transposed, or a stack of matrices (X, K, N).
        B : buffer or op-tree
            Stack of matrices: (X, C, N) for one A, (X, K, N) for a transposed A, ``B.T`` of (X, C, N) for a stack A.
        C : buffer
            Destination: (X, K, N), the products of the matrix with each of the stack; (X, C, N) for the transposed
            matrix; or (K, C), the sum of the products of pairs of two stacks.
        alpha, beta, relu
            See `compound_dot`.

        Returns
        -------
        buffer
            C.

        Raises
        ------
        TypeError, ValueError
            See `compound_dot`.

        Examples
        --------
        >>> from nbm_xp.neon import Backend
        >>> be = Backend(library="cpu")
        >>> A, B, C = be.array([[1, 2]]), be.ones((3, 2, 1)), be.empty((3, 1, 1))
        >>> be.batched_dot(A, B, C).get().reshape(-1)
        array([3., 3., 3.], dtype=float32)
        >>> be.batched_dot(C, B.T, be.zeros((1, 2))).get()
        array([[9., 9.]], dtype=float32)
        """
        a, b = value_of(self, A, "A"), value_of(self, B, "B")
        if b.ndim != 3 or a.ndim not in (2, 3):
            raise ValueError(
                f"B must have three axes and A two or three, got shapes {tuple(b.shape)} and {tuple(a.shape)}"
            )
        batch, inner, columns = b.shape
        if a.shape[-1] != inner or (a.ndim == 3 and a.shape[0] != batch):
            wanted = f"({inner} columns)" if a.ndim == 2 else f"({batch}, rows, {inner})"
            raise ValueError(f"A must fit B of shape {tuple(b.shape)}, {wanted}, got {tuple(a.shape)}")
        shape = (batch, a.shape[0], columns) if a.ndim == 2 else (a.shape[1], columns)
        target = _exactly(self, C, "C", shape)
        alpha, beta = factors(alpha, beta)
        target.write(batched_product(a, b, target.present(beta), alpha, beta, relu=relu), fresh=True)
        return C

    @also_by_place("A, B, C, beta, bsum")
    def xnor_compound_dot(
        self, A: Buffer, B: Buffer, C: Buffer, beta: float = 0.0, *, bsum: Buffer | None = None
    ) -> Buffer:
        """Set C to the product of two matrices of -1 and 1, plus ``beta · C``.

        Each element is the number of positions in which a row of A and a column of B agree, minus the number in which
        they differ, as networks of binary weights compute it by XNOR and bit counts. It is computed as a matrix
        product, which is exact for such elements and faster than counting bits with array operations.

        Parameters
        ----------
        A, B : buffer or op-tree
            Matrices of -1 and 1, of shapes (rows, inner) and (inner, columns).
        C : buffer
            Destination, of shape (rows, columns).
        beta : float
            Factor of the previous values of C.
        bsum : buffer, optional
            See `compound_dot`.

        Returns
        -------
        buffer
            C.

        Raises
        ------
        TypeError, ValueError
            See `compound_dot`.

        References
        ----------
        M. Rastegari, V. Ordonez, J. Redmon and A. Farhadi, XNOR-Net: ImageNet Classification Using Binary Convolutional
        Neural Networks, 2016, https://arxiv.org/abs/1603.05279.

        Examples
        --------
        >>> from nbm_xp.neon import Backend
        >>> be = Backend(library="cpu")
        >>> be.xnor_compound_dot(be.array([[1, -1, 1]]), be.array([1, 1, 1]), be.empty((1, 1))).get()
        array([[1.]], dtype=float32)
        """
        return self.compound_dot(A, B, C, beta=beta, bsum=bsum)

    def compound_bprop_lut(
        self, nin: int, inputs: Buffer, error: Buffer, error_t: Any, dW: Buffer, pad_idx: int | None,
        alpha: float = 1.0, beta: float = 0,
    ) -> Buffer:  # fmt: skip
        """Compute the gradient of an embedding table.

        Parameters
        ----------
        nin : int
            Number of look-ups per example; only validated.
        inputs : buffer
            Integers, of shape (1, n): the row of each look-up.
        error : buffer or op-tree
            Errors of the outputs, of shape (units, n).
        error_t : buffer
            Work buffer for the transposed errors, of shape (n, units); not modified.
        dW : buffer
            The gradient, of shape (rows, units). A row that was looked up is set to ``alpha`` times the sum of its
            errors plus ``beta`` times its previous values; the other rows are unchanged.
        pad_idx : int, optional
            The padding row, which is unchanged too.
        alpha, beta : float
            Factors of the gradient and of its previous values.

        Returns
        -------
        buffer
            `dW`.

        Raises
        ------
        TypeError
            If an operand is not a buffer of numbers, or `inputs` are not integers.
        ValueError
            If shapes do not match. Nothing is written in that case.

        Examples
        --------
        >>> from nbm_xp.neon import Backend
        >>> be = Backend(library="cpu")
        >>> inputs, error = be.array([[2, 0, 2]], dtype="int32"), be.array([[1, 2, 4]])
        >>> be.compound_bprop_lut(3, inputs, error, error.T, be.zeros((3, 1)), None).get().reshape(-1)
        array([2., 0., 5.], dtype=float32)
        """
        whole(nin, "nin")
        padding = None if pad_idx is None else whole(pad_idx, "pad_idx", 0)
        found, errors = value_of(self, inputs, "inputs"), value_of(self, error, "error")
        if not is_integer(found):
            raise TypeError(f"inputs must hold integers, got {inputs.dtype}")
        units, count = _matrix(errors, "error")
        if tuple(found.shape) != (1, count):
            raise ValueError(f"inputs must have shape (1, {count}), as error has columns, got {tuple(found.shape)}")
        if isinstance(error_t, Buffer) and error_t.shape != (count, units):
            raise ValueError(f"error_t must have shape {(count, units)}, got {error_t.shape}")
        rows = getattr(dW, "shape", (0,))[0]
        target = _exactly(self, dW, "dW", (rows, units))
        alpha, beta = factors(alpha, beta)
        target.write(lookup_gradient(target.buffer.array, found, errors, alpha, beta, padding=padding), fresh=True)
        return dW
