"""Adapters with the signatures of other libraries and the estimators of this package."""

from bansac.compat.return_values import DoubtWarning as DoubtWarning
from bansac.compat.return_values import strict as strict
