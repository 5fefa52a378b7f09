"""Adapters with the signatures of other libraries and the estimators of this package."""
