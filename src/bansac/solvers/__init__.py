"""Minimal and linear solvers of two-view and other models, one per module.

A minimal solver is ``solve(data, sample, models, scratch)``. A linear solver is ``fit(data, weights, model, scratch)``.
Both have the signature of the corresponding function of a problem. A solver that callers of this package need for NumPy
arrays also has a function with the name of its module.
"""
