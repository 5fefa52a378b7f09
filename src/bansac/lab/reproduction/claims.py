"""The table of the claims of the paper: each with a verdict that is computed from the committed tables."""

from __future__ import annotations

from bansac.lab.reports import lines
from bansac.lab.reproduction import main_claims, other_claims  # noqa: F401  # their claims join CLAIMS
from bansac.lab.reproduction.claim import CLAIMS, NO, PART, YES, Claim
from bansac.lab.reproduction.runs import file_of


def claims() -> str:
    """Return the table: "yes" if a claim holds in every figure that it speaks of, "no" if in none."""
    rows = []
    for claim in CLAIMS:
        of_paper, ours, holds = claim.judge()
        cells = [claim.place, claim.words, of_paper, ours, claim.criterion, holds, links(claim)]
        rows.append([cell.replace("|", "\\|") for cell in cells])
    return lines(["where", "claim", "the paper's figures", "ours", "yes if", "holds", "run, table"], rows)


def verdicts() -> str:
    """Return how many claims have each verdict, and those that do not hold."""
    of: dict[str, list[str]] = {YES: [], PART: [], NO: []}
    for claim in CLAIMS:
        first, _, rest = claim.words.partition(" ")
        is_word = first.isalpha() and first[1:] == first[1:].lower()
        of[claim.judge()[2]].append(f"{first.lower() if is_word else first} {rest}")
    rows = [[f"{verdict} ({len(found)})", "; ".join(found)] for verdict, found in of.items()]
    return lines(["holds", "claims"], rows)


def links(claim: Claim) -> str:
    """Return links to the tables that a claim rests on, by the names of the runs."""
    tables = (f"[{run}](../benchmarks/experiments/{run}/{claim.table_name or file_of(run)}.json)" for run in claim.runs)
    return ", ".join(tables) or "[network](../src/bansac/engine/dbn.py)"


TABLES = {"claims": claims, "verdicts": verdicts}
