"""States of the streams of recorded draws: assigned to draws, listed, inspected and reset.

Contract: the names, parameters and numbers of Theano's ``MRG_RandomStreams``; evaluating a draw advances its streams,
evaluating their state does not.

Each draw owns a state: a Variable with one row of six integers for each of its streams. The operation of the draw also
gives the state after it, which is the Variable's ``default_update``; `nbm_xp.tape.function` and `nbm_xp.tape.scan`
apply it automatically.

References
----------
.. [1] Theano documentation, ``theano.sandbox.rng_mrg.MRG_RandomStreams``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from typing import Any

from nbm_xp.namespace import asarray, default_namespace, dtype_name, host_namespace, is_lazy, library_name, use_backend
from nbm_xp.namespace.errors import check_flag
from nbm_xp.namespace.mrg31k3p.integers import DRAW_STEPS, State, jump
from nbm_xp.tape import Tensor, Variable, function

from ..parameters import count_of
from ..seeds import check_seed
from ..uniforms import stream_count, substreams

# Lock held while a state advances, so that no two draws, in any threads, use the same streams.
_advancing = threading.RLock()


def _look(tensor: Tensor, state: Variable) -> Callable[[], Any]:
    """Return a function that evaluates a Tensor without advancing the streams, by updating their state to itself."""
    compiled = cache(partial(function, [], tensor, updates=[(state, state)]))
    return lambda: compiled()()


class StreamStates:
    """States of the draws of `RandomStreams`; see there."""

    def __init__(self, seed: Any = 12345, use_cuda: Any = None) -> None:
        self.state_updates: list[tuple[Any, Any, Any, int | None]] = []
        self.default_instance_seed = seed
        self._state: State = check_seed(seed)

    @property
    def rstate(self) -> Any:
        """State in which the first stream of the next draw starts: a NumPy array of six integers."""
        return asarray(list(self._state), host_namespace(), "int32")

    @rstate.setter
    def rstate(self, state: Any) -> None:
        self.set_rstate(state)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} at {self._state} with {len(self.state_updates)} draws>"

    def set_rstate(self, seed: Any) -> None:
        """Set the state in which the streams of the next draw start.

        Parameters
        ----------
        seed : int or six ints
            See `RandomStreams`.

        Raises
        ------
        TypeError
            If `seed` is neither one integer nor six.
        ValueError
            If a number is outside its range.

        Examples
        --------
        >>> from nbm_xp.rng import RandomStreams
        >>> rng = RandomStreams(234)
        >>> rng.set_rstate([1, 2, 3, 4, 5, 6])
        >>> rng.rstate.tolist()
        [1, 2, 3, 4, 5, 6]
        """
        self._state = check_seed(seed)

    def seed(self, seed: Any = None) -> None:
        """Reset the streams of all draws made so far, and of those to come, from a seed.

        Parameters
        ----------
        seed : int, six ints or None
            See `RandomStreams`; None is the default seed of this object. The draws are assigned streams in the order in
            which they were made.

        Examples
        --------
        >>> from nbm_xp.rng import RandomStreams
        >>> rng = RandomStreams(234)
        >>> u = rng.uniform((2,), dtype="float64")
        >>> first = u.eval()
        >>> rng.seed()
        >>> bool((u.eval() == first).all())
        True
        """
        with self.recording():
            self.set_rstate(self.default_instance_seed if seed is None else seed)
            begun = []
            for state, _, size, nstreams in self.state_updates:
                streams = self.n_streams(size) if nstreams is None else nstreams
                with use_backend(library_name(state.value)):  # whatever the configuration is now
                    begun.append((state, self.get_substream_rstates(streams, "float32")))
            for state, value in begun:
                state.set_value(value)

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Undo a draw that fails: it takes no streams, and is not listed.

        Examples
        --------
        >>> from nbm_xp.rng import RandomStreams
        >>> rng = RandomStreams(1)
        >>> try:
        ...     with rng.recording():
        ...         rng.inc_rstate()
        ...         raise ValueError("no draw")
        ... except ValueError:
        ...     rng.rstate.tolist()
        [1, 1, 1, 1, 1, 1]
        """
        with _advancing:
            state, draws = self._state, len(self.state_updates)
            try:
                yield
            except BaseException:
                self._state = state
                del self.state_updates[draws:]
                raise

    def inc_rstate(self) -> None:
        """Advance the state by 2**134 steps, to the streams of the next draw.

        Examples
        --------
        >>> from nbm_xp.rng import RandomStreams
        >>> rng = RandomStreams(1)
        >>> rng.inc_rstate()
        >>> rng.rstate.tolist()
        [913990747, 1895992010, 2074523148, 720872428, 1989554718, 1863565340]
        """
        with _advancing:
            self._state = jump(self._state, DRAW_STEPS)

    def n_streams(self, size: Any) -> int:
        """Return the default number of streams of a draw.

        Parameters
        ----------
        size : tuple of ints, or Tensor
            Shape of the draw.

        Returns
        -------
        int
            Up to 6 the number of elements, else a sixth of it, rounded down and at most 15360; 15360 if the size is
            unknown.

        Examples
        --------
        >>> from nbm_xp.rng import RandomStreams
        >>> RandomStreams().n_streams((3, 4)), RandomStreams().n_streams(None)
        (2, 15360)
        """
        return stream_count(size)

    def get_substream_rstates(self, n_streams: int, dtype: Any, inc_rstate: bool = True) -> Any:
        """Return the states in which streams start, each 2**72 steps after the previous one.

        Parameters
        ----------
        n_streams : int
            Number of streams.
        dtype : str
            dtype of the numbers to draw. Ignored.
        inc_rstate : bool
            Whether to advance the state to the streams of the next draw.

        Returns
        -------
        array
            int32, of shape (n_streams, 6), of the default library; of NumPy if that is Dask.

        Examples
        --------
        >>> from nbm_xp.rng import RandomStreams
        >>> RandomStreams(234).get_substream_rstates(2, "float32")[1, :3].tolist()
        [704833060, 506023153, 12815654]
        """
        dtype_name(dtype)
        count, xp = count_of("n_streams", n_streams, 1, bits=31), default_namespace()
        check_flag("inc_rstate", inc_rstate)
        with _advancing:
            states = substreams(self._state, count)
            states = states if is_lazy(xp) else asarray(states, xp)
            if inc_rstate:
                self.inc_rstate()
        return states

    def updates(self) -> list[tuple[Any, Any, Any, int | None]]:
        """Return the states of the draws made so far.

        Returns
        -------
        list of tuples
            For each draw its state, the state after its next evaluation, its size, and `nstreams` as passed. Evaluating
            them does not advance the streams.

        Examples
        --------
        >>> from nbm_xp.rng import RandomStreams
        >>> rng = RandomStreams(234)
        >>> u = rng.uniform((3,), nstreams=1)
        >>> [(state, new, size, nstreams)] = rng.updates()
        >>> state.eval().tolist(), size, nstreams
        ([[234, 234, 234, 234, 234, 234]], (3,), 1)
        """
        return list(self.state_updates)

    def pretty_return(self, node_rstate: Any, new_rstate: Any, sample: Any, size: Any, nstreams: int | None) -> Any:
        """Register a draw, so that `updates` lists it and `seed` resets it.

        Parameters
        ----------
        node_rstate : Variable
            State of the draw.
        new_rstate : Tensor
            State after the draw, which becomes the default update of `node_rstate`.
        sample : Tensor
            Result of the draw.
        size, nstreams
            As passed to the draw.

        Returns
        -------
        Tensor
            `sample`.
        """
        node_rstate.default_update = new_rstate
        for tensor in (node_rstate, new_rstate):
            tensor.node.evaluator = _look(tensor, node_rstate)
        self.state_updates.append((node_rstate, new_rstate, size, nstreams))
        return sample

    def take_streams(self, size: Any, nstreams: int | None) -> Variable:
        """Assign streams to a draw, and return its state.

        Parameters
        ----------
        size : tuple of ints, or Tensor
            Shape of the draw.
        nstreams : int or None
            Number of streams; None for `n_streams` of the size.

        Returns
        -------
        Variable

        Examples
        --------
        >>> from nbm_xp.rng import RandomStreams
        >>> RandomStreams(234).take_streams((3, 4), None).shape
        (2, 6)
        """
        streams = self.n_streams(size) if nstreams is None else count_of("nstreams", nstreams, 1, bits=31)
        return Variable(self.get_substream_rstates(streams, "float32"), name="random streams", is_state=True)

    def _drawn(
        self, operation: Any, size: Any, shape: Any, nstreams: int | None, *inputs: Any, **options: Any
    ) -> Tensor:
        """Record an operation of `nbm_xp.rng.recorded` that draws from streams of its own."""
        with self.recording():
            state = self.take_streams(size, nstreams)
            sample, new = operation(state, *inputs, size=shape, **options)
            drawn: Tensor = self.pretty_return(state, new, sample, size=size, nstreams=nstreams)
            return drawn
