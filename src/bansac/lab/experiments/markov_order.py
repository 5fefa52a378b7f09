"""Orders 1 to 3 of the Markov assumption (table:ablation_markov_assumptions)."""

from __future__ import annotations

from bansac.lab.ablations import ablation

EXPERIMENT = ablation(
    "order",
    {1: "1st Order", 2: "2nd Order", 3: "3rd Order"},
    label="order {}",
    name="markov-order",
    title="Orders 1 to 3 of the Markov assumption",
    reference="table:ablation_markov_assumptions",
    defaults="E and F (the paper: E), all pairs of sacre_coeur, 5 repeats",
    caption="Ablation study on the Markov assumption: BANSAC with the orders 1, 2 and 3.",
)
