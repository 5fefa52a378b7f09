"""Adapters with the signatures of other libraries and the estimators of this package.

This package imports the public functions and lower layers; no other module imports it.
"""
