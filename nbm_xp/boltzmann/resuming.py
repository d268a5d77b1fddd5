"""Where a model's random draws have come to, by name, so that a model read from a file goes on drawing just there.

Every compiled function that draws owns states of random streams, made when it is compiled. They are kept here under
the function's key. A model that is read again has no compiled functions yet: the states wait, and when a function is
compiled under the same key, in whatever order, it takes them over instead of beginning new streams.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any

from nbm_xp.namespace import array_namespace, asarray

__all__ = ["Draws"]


class Draws:
    """The states behind a model's draws.

    Parameters
    ----------
    rng : RandomStreams
        The streams that the model's functions draw from.
    waiting : mapping of str to array, optional
        What `states` gave when the model was saved.

    Examples
    --------
    >>> from nbm_xp import natural_bm as B
    >>> def compiled(draws):
    ...     return draws.built("u", lambda: B.function([], B.random_uniform((2,), rng=draws.rng)))
    >>> draws = Draws(B.make_rng(7))
    >>> draw = compiled(draws)
    >>> _ = draw()
    >>> later = Draws(B.make_rng(7), draws.states())
    >>> bool((compiled(later)() == draw()).all())
    True
    """

    def __init__(self, rng: Any, waiting: Mapping[str, Any] | None = None) -> None:
        self.rng = rng
        self._waiting = dict(waiting or {})
        self._made: dict[str, Any] = {}

    def built(self, key: Hashable, build: Callable[[], Any]) -> Any:
        """What `build` compiles; its draws go on where those of this key were left, if they were."""
        first, place = len(self.rng.state_updates), list(self.rng.rstate)
        made = build()
        states = [state for state, *_ in self.rng.state_updates[first:]]
        names = [f"{key!r} {number}" for number in range(len(states))]
        if states and all(name in self._waiting for name in names):
            self.rng.set_rstate(place)  # their streams were handed out before
            for name, state in zip(names, states, strict=True):
                now = state.value
                state.set_value(asarray(self._waiting.pop(name), array_namespace(now), now.dtype))
        self._made |= dict(zip(names, states, strict=True))
        return made

    def forget(self, key: Hashable) -> None:
        """Draw no more by functions of a key, nor of keys that hold it."""
        part = repr(key)
        for known in (self._waiting, self._made):
            for name in [name for name in known if part in name]:
                del known[name]

    def states(self) -> dict[str, Any]:
        """The states, arrays, in the order of their names: of functions compiled, and of those still waited for."""
        known = self._waiting | {name: state.value for name, state in self._made.items()}
        return {name: known[name] for name in sorted(known)}
