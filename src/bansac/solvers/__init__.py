"""Minimal and linear solvers of two views, one module a solver: the kernel, and a wrapper for NumPy arrays.

A minimal solver is ``solve(data, sample, models, scratch)``, a linear one ``fit(data, weights, model, scratch)``, as in
the contract of a problem; the wrapper has the name of the module. Imports ``numeric`` only.
"""
