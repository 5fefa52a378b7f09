"""Adapters with the signatures of other libraries and the estimators of this package."""

from bansac.compat.return_values import DoubtWarning, strict

__all__ = ["DoubtWarning", "strict"]
