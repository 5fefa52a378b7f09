"""How the methods look: the same colour, marker and line in every figure; with precomputed scores they are dashed."""

from __future__ import annotations

__all__ = ["STYLES"]

STYLES: dict[str, tuple[str, str, str]] = {
    "RANSAC": ("#4d4d4d", "o", "-"),
    "NAPSAC": ("#b8860b", "v", "-"),
    "P-NAPSAC": ("#2a9d57", "^", "--"),
    "PROSAC": ("#8e5bb5", "s", "--"),
    "BaySAC": ("#b8860b", "D", "-"),
    "BANSAC": ("#d62728", "P", "-"),
    "P-BANSAC": ("#1f77b4", "X", "--"),
}
"""Colour, marker and line by the name of the method."""
