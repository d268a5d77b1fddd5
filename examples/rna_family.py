"""A family of RNA sequences: train on an alignment, compare pair frequencies, and predict contacts."""

import sys

import numpy as np
from matplotlib.figure import Figure

from nbm_xp import RBM
from nbm_xp.boltzmann.sequences import contact_scores, effective_couplings, pair_frequencies, sequence_weights


def hairpin(n_sequences: int) -> np.ndarray:
    """Sequences of 12 sites, of which site i pairs with site 11 - i: G (3) with C (2), A (1) with U (4)."""
    random = np.random.default_rng(0)
    states = random.integers(1, 5, size=(n_sequences, 12))
    for site in range(5):
        pairs = random.random(n_sequences) < 0.95
        states[pairs, 11 - site] = 5 - states[pairs, site]
    return states


def main(picture: str = "rna_family.png", n_iter: int = 60) -> set[tuple[int, int]]:
    """Train; return the five pairs of sites with the highest contact scores."""
    states = hairpin(2000)
    weights = sequence_weights(states, identity=0.8)
    rbm = RBM(40, n_iter=n_iter, batch_size=50, visible="categorical:5", schedule="linear", random_state=0)
    rbm.fit(states, sample_weight=weights)
    drawn = rbm.sample(2000, 200, random_state=1).astype(int)
    data, model = pair_frequencies(states, 5, weights), pair_frequencies(drawn, 5)
    couplings = effective_couplings(rbm.components_, rbm.intercept_hidden_, states, 5)
    scores = np.asarray(contact_scores(couplings))

    figure = Figure(figsize=(8, 3.6), layout="constrained")
    frequencies, contacts = figure.subplots(1, 2)
    frequencies.plot(np.ravel(data), np.ravel(model), ".", markersize=2)
    frequencies.set_xlabel("pair frequencies of the family")
    frequencies.set_ylabel("of the samples")
    contacts.imshow(scores, cmap="Blues")
    contacts.set_title("contact scores")
    figure.savefig(picture, dpi=100)
    upper = np.triu(scores, 2)
    best = np.argsort(upper.ravel())[-5:]
    return {(int(i), int(j)) for i, j in zip(*np.unravel_index(best, upper.shape), strict=True)}


if __name__ == "__main__":
    print(main(*sys.argv[1:2]))
