"""Potts models of families of sequences: parameters by sites, files of adabmDCA, effects of mutations.

Contract: parameters are host arrays in the layout of `nbm_xp.boltzmann.sequences`: couplings of shape (units, values,
units, values) and fields of shape (units, values), which add to the log-probability. Files are written completely or
not at all; a file that is not valid raises `ValueError` with the number of the line.

A file of adabmDCA has a line ``J i j a b value`` for each coupling, once for each pair of sites, then a line
``h i a value`` for each field. Sites are numbered from 0; states are letters, or in older files their numbers.

References
----------
M. Figliuzzi, P. Barrat-Charlaix and M. Weigt, "How pairwise coevolutionary models capture the collective residue
variability in proteins?", Molecular Biology and Evolution 35 (2018), 1018-1027.
A. P. Muntoni, A. Pagnani, M. Weigt and F. Zamponi, "adabmDCA: adaptive Boltzmann machine learning for biological
sequences", BMC Bioinformatics 22 (2021), 528.
T. A. Hopf et al., "Mutation effects predicted from sequence co-variation", Nature Biotechnology 35 (2017), 128-135.
"""

from __future__ import annotations

import os
import re
from array import array
from collections.abc import Sequence
from typing import Any, Self

from nbm_xp.files import local_path, replacing
from nbm_xp.machines import Array
from nbm_xp.machines.alphabets import Alphabet, checked_alphabet
from nbm_xp.namespace import host_namespace

from .energy_model import EnergyModel, checked_states
from .graph import Graph, finite

_MUTATION = re.compile(r"(\D)(\d+)(\D)")


class PottsMixin(EnergyModel):
    """The methods of `GraphMachine` for Potts models of sequences."""

    @classmethod
    def from_parameters(cls, couplings: Array, fields: Array, **params: Any) -> Self:
        """Return a Potts model with the given couplings and fields.

        Parameters
        ----------
        couplings : array of shape (units, values, units, values)
            Symmetric; ``couplings[i, a, j, b]`` is that of value a of unit i and value b of unit j. Pairs of units
            whose couplings are all 0 are not edges of the graph.
        fields : array of shape (units, values)
        **params
            Parameters of learning.

        Raises
        ------
        ValueError
            If a shape is wrong, a number is not finite, or couplings are not symmetric or join a unit with itself.

        Examples
        --------
        >>> import numpy as np
        >>> from nbm_xp.graphs import GraphMachine
        >>> couplings = np.zeros((3, 2, 3, 2))
        >>> couplings[0, 1, 2, 0] = couplings[2, 0, 0, 1] = 0.5
        >>> GraphMachine.from_parameters(couplings, np.zeros((3, 2))).energy([[1, 0, 0], [0, 0, 1]])
        array([-0.5, -0. ])
        """
        host, shape = host_namespace(), tuple(getattr(fields, "shape", ()))
        if len(shape) != 2:
            raise ValueError(f"fields must be an array of shape (units, values), got shape {shape}")
        pairs = host.permute_dims(finite(couplings, "couplings", shape + shape), (0, 2, 1, 3))
        if not host.allclose(pairs, host.permute_dims(pairs, (1, 0, 3, 2))):
            raise ValueError("couplings must be symmetric: couplings[i, a, j, b] equal to couplings[j, b, i, a]")
        joined = host.any(pairs != 0, axis=(2, 3))
        if host.any(host.linalg.diagonal(joined)):
            raise ValueError("couplings must join different units, got some of a unit with itself")
        first, second = host.nonzero(host.triu(joined))
        return cls(Graph(shape[0], first, second), shape[1], fields, pairs[first, second], **params)

    def pair_couplings(self) -> Array:
        """Return the couplings of all pairs of Potts units; those without an edge are 0.

        Returns
        -------
        numpy.ndarray of shape (units, values, units, values)
            Symmetric. `nbm_xp.boltzmann.sequences.contact_scores` takes such arrays.

        Raises
        ------
        ValueError
            If the machine has other units.

        Examples
        --------
        >>> from nbm_xp.graphs import GraphMachine
        >>> GraphMachine([[0, 1]], 2, couplings=0.5).pair_couplings()[0, :, 1, :]
        array([[0.5, 0. ],
               [0. , 0.5]])
        """
        host, (first, second, tables) = host_namespace(), self._tables()
        found = host.zeros((self.n_units, self.n_units, *tables.shape[1:]))
        found[first, second], found[second, first] = tables, host.matrix_transpose(tables)
        return host.permute_dims(found, (0, 2, 1, 3))

    def score_mutants(
        self, sequence: Any, mutations: Sequence[str] | None = None, *, alphabet: str | Alphabet = "protein",
        first_site: int = 1,
    ) -> Array:  # fmt: skip
        """Compute the effect of mutations: the log-probability of each mutant minus that of the sequence.

        With hidden units, the probabilities are those of the visible units, by enumeration of all states.

        Parameters
        ----------
        sequence : str or array of shape (visible units,)
            The aligned sequence that is mutated.
        mutations : sequence of str, optional
            A mutant for each item, such as "A12C", from A to C at site 12; several mutations at once are separated by
            a comma or a colon. By default all single mutations.
        alphabet : {"protein", "rna", "dna"} or Alphabet, optional
            Alphabet of the sequences; a machine has a value for each letter.
        first_site : int, optional
            Number of the first site.

        Returns
        -------
        numpy.ndarray
            float64, in nats, of shape (mutations,), or (visible units, values) by default; negative for mutants that
            the machine finds less probable. It does not depend on the gauge of couplings and fields.

        Raises
        ------
        ValueError
            If a mutation cannot be read, or does not begin with the letter of the sequence at its site; or if there are
            hidden units and too many states to enumerate.

        Examples
        --------
        >>> import numpy as np
        >>> from nbm_xp.graphs import GraphMachine
        >>> machine = GraphMachine([[0, 1]], 5, fields=[0.0, 0.1, 0.2, 0.3, 0.4], couplings=0.5)
        >>> machine.score_mutants("AA", ["A1C", "A1C,A2C"], alphabet="rna").round(3)
        array([-0.4,  0.2])
        >>> machine.score_mutants("AA", alphabet="rna").shape
        (2, 5)
        """
        host, known = host_namespace(), checked_alphabet(alphabet)
        self._check_alphabet(known)
        array = known.encode([sequence]) if isinstance(sequence, str) else sequence
        states = checked_states(self, array, 1, self.n_visible)[0].tolist()
        if mutations is None:
            rows = [[*states[:i], k, *states[i + 1 :]] for i in range(self.n_visible) for k in self.kind.values]
        else:
            rows = [_mutant(states, mutation, known, first_site) for mutation in mutations]
        machine: Any = self
        every = host.asarray([states, *rows], dtype=host.int8)
        logs = machine.log_likelihood(every) if self.hidden_units.shape[0] else -machine.energy(every)
        found = logs[1:] - logs[0]
        return host.reshape(found, (self.n_visible, -1)) if mutations is None else found

    @classmethod
    def from_adabmdca(cls, path: str | os.PathLike[str], alphabet: str | Alphabet = "protein", **params: Any) -> Self:
        r"""Read a Potts model from a file of parameters of adabmDCA.

        Parameters
        ----------
        path : path-like
        alphabet : {"protein", "rna", "dna"} or Alphabet, optional
        **params
            Parameters of learning.

        Raises
        ------
        ValueError
            If the file holds no such model.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from nbm_xp.graphs import GraphMachine
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "params.dat"
        >>> _ = file.write_text("J 0 1 A C 0.5\nJ 0 2 - A -0.25\nh 0 A 0.125\nh 2 C 0.25\n")
        >>> machine = GraphMachine.from_adabmdca(file)
        >>> machine, float(machine.energy([1, 2, 2])[0])
        (GraphMachine(<graph: 3 units, 2 edges>, units=21, 2 colours), -0.875)
        """
        host, known, place = host_namespace(), checked_alphabet(alphabet), local_path(path)
        letters = {letter: k for k, letter in enumerate(known.letters)} | {f"{k}": k for k in range(known.size)}
        pairs, couplings, single, fields = array("i"), array("d"), array("i"), array("d")
        with open(place, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                words = line.split()
                try:
                    if len(words) == 6 and words[0] == "J":
                        pairs.extend((int(words[1]), int(words[2]), letters[words[3]], letters[words[4]]))
                        couplings.append(float(words[5]))
                    elif len(words) == 4 and words[0] == "h":
                        single.extend((int(words[1]), letters[words[2]]))
                        fields.append(float(words[3]))
                    elif words:
                        raise ValueError
                except (KeyError, OverflowError, ValueError):
                    wanted = f"J i j a b value, or h i a value, with letters of {known.name} ({known.letters})"
                    raise ValueError(f"{place}: expected {wanted}, got {line[:40]!r} in line {number}") from None
        i, j, *ab = host.reshape(host.asarray(pairs, dtype=host.int64), (-1, 4)).T
        unit, a = host.reshape(host.asarray(single, dtype=host.int64), (-1, 2)).T
        every = host.concat([i, j, unit])
        if not unit.shape[0] or host.any(every < 0):
            raise ValueError(f"{place}: sites must be numbers from 0 on, with lines h i a value")
        n, q = int(host.max(every)) + 1, known.size
        edges, which = host.unique_inverse(i * n + j)
        of_units, of_edges = host.zeros((n, q)), host.zeros((edges.shape[0], q, q))
        of_units[unit, a], of_edges[which, *ab] = fields, couplings
        return cls(Graph(n, edges // n, edges % n), q, of_units, of_edges, **params)

    def to_adabmdca(self, path: str | os.PathLike[str], alphabet: str | Alphabet = "protein") -> None:
        """Write the machine to a file of parameters of adabmDCA, which can sample and evaluate it.

        Parameters
        ----------
        path : path-like
            The file; an existing file is replaced atomically.
        alphabet : {"protein", "rna", "dna"} or Alphabet, optional

        Raises
        ------
        ValueError
            If the units are not Potts units with a value for each letter.
        """
        known, (first, second, tables) = checked_alphabet(alphabet), self._tables()
        self._check_alphabet(known)
        both = [f"{a} {b}" for a in known.letters for b in known.letters]
        with replacing(local_path(path)) as part, open(part, "w", encoding="utf-8") as file:
            for i, j, table in zip(first.tolist(), second.tolist(), tables, strict=True):
                values = table.reshape(-1).tolist()
                file.writelines(f"J {i} {j} {ab} {value!r}\n" for ab, value in zip(both, values, strict=True))
            for i, row in enumerate(self.unit_fields.tolist()):
                file.writelines(f"h {i} {a} {value!r}\n" for a, value in zip(known.letters, row, strict=True))

    def _tables(self) -> tuple[Array, Array, Array]:
        """Return the two units of each edge and the matrix of its couplings, with the lesser unit first, in C order."""
        if not self.kind.is_categorical:
            raise ValueError(f"units must be Potts units, got {self.units!r}")
        host, tables, graph = host_namespace(), self.edge_couplings, self.graph
        if tables.ndim == 1:
            tables = tables[:, None, None] * host.eye(self.kind.count)
        turned = (graph.first > graph.second)[:, None, None]
        first, second = host.minimum(graph.first, graph.second), host.maximum(graph.first, graph.second)
        order = host.argsort(host.astype(first, host.int64) * graph.units + second)
        return first[order], second[order], host.where(turned, host.matrix_transpose(tables), tables)[order]

    def _check_alphabet(self, alphabet: Alphabet) -> None:
        """Raise `ValueError` if the units have not a value for each letter."""
        if not self.kind.is_categorical or self.kind.count != alphabet.size:
            wanted = f"{alphabet.size} letters for units of as many values"
            raise ValueError(f"alphabet {alphabet.name!r} has {wanted}, got units {self.units!r}")


def _mutant(states: list[int], mutation: str, alphabet: Alphabet, first_site: int) -> list[int]:
    """Return the states after one or several mutations."""
    found = list(states)
    for one in re.split("[,:]", mutation):
        parts = _MUTATION.fullmatch(one.strip())
        if parts is None:
            raise ValueError(f"mutations must be such as 'A12C', several of them separated by ',', got {mutation!r}")
        before, to = alphabet.encode([parts[1] + parts[3]])[0].tolist()
        site = int(parts[2]) - first_site
        if not 0 <= site < len(states):
            last = first_site + len(states) - 1
            raise ValueError(f"mutations must be at sites from {first_site} to {last}, got {mutation!r}")
        if states[site] != before:
            there = alphabet.letters[states[site]]
            raise ValueError(f"mutations must begin with the sequence's letter, which is {there}, got {mutation!r}")
        found[site] = to
    return found
