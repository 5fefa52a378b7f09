"""The network, written out from the paper's tables and sums, one datum and one state at a time."""

import itertools

import numpy as np

from bansac.engine import dbn

MIN_ODDS, MAX_ODDS = float(dbn.MIN_ODDS), float(dbn.MAX_ODDS)

INLIER, OUTLIER = "inlier", "outlier"

# tab:prob_C, tab:cpt_2nd_markov, tab:cpt_3rd_markov: P(x^k = inlier | x^{k-1}, ..., c^k), as printed: a row for each
# (x^{k-1}, ...), the inliers first, with c^k = inlier and outlier.
PRINTED = (
    [(1.0, 1.0), (0.2, 0.0)],
    [(1.0, 0.8), (0.9, 0.7), (0.2, 0.1), (0.1, 0.0)],
    [(1.0, 0.8), (0.9, 0.7), (0.6, 0.5), (0.4, 0.2), (0.3, 0.2), (0.1, 0.3), (0.2, 0.1), (0.05, 0.0)],
)
PAPER_TABLES = tuple(
    {
        (past, c): p
        for past, row in zip(itertools.product((INLIER, OUTLIER), repeat=order), rows, strict=True)
        for c, p in zip((INLIER, OUTLIER), row, strict=True)
    }
    for order, rows in enumerate(PRINTED, 1)
)

_BIT = {OUTLIER: 0, INLIER: 1}


def tables_from_arrays(cpt):
    """Write a CPT given as arrays in the form of the tables above."""
    tables = []
    for array in cpt:
        values = np.asarray(array)
        tables.append(
            {
                (past, c): float(values[tuple(_BIT[x] for x in past)][_BIT[c]])
                for past in itertools.product((INLIER, OUTLIER), repeat=values.ndim - 1)
                for c in (INLIER, OUTLIER)
            }
        )
    return tuple(tables)


def infer(prior, evidence, gammas, order, tables=PAPER_TABLES):
    """Return P(x^k = inlier | c^1, ..., c^k) of one datum by the recursion of the paper, normalised at every step.

    The belief maps (x^k, x^{k-1}, ...) to its probability. As in the kernels no state falls below MIN_ODDS.
    """
    belief = {(INLIER,): prior, (OUTLIER,): 1 - prior}
    odds = (1 - prior) / prior
    for c, gamma in zip(evidence, gammas, strict=True):
        known = len(next(iter(belief)))
        updated: dict[tuple[str, ...], float] = {}
        for past, probability in belief.items():
            likelihood = gamma if c == past[0] else 1 - gamma
            p_inlier = tables[known - 1][past, c]
            for x in (INLIER, OUTLIER):
                states = (x, *past)[:order]
                transition = p_inlier if x == INLIER else 1 - p_inlier
                updated[states] = updated.get(states, 0.0) + transition * likelihood * probability
        total = sum(updated.values())
        inlier = sum(p for states, p in updated.items() if states[0] == INLIER)
        outlier = sum(p for states, p in updated.items() if states[0] == OUTLIER)
        odds = min(max(outlier / inlier, MIN_ODDS), MAX_ODDS) if inlier > 0 else MAX_ODDS
        if order == 1:  # the state of the fast path is the clamped odds
            belief = {(INLIER,): 1.0, (OUTLIER,): odds}
        else:
            belief = {states: max(p / total, MIN_ODDS) for states, p in updated.items()}
    return 1 / (1 + odds)
