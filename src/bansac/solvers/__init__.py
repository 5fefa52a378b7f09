"""Minimal and linear solvers of two-view and other models: each module has a kernel and a wrapper for NumPy arrays.

A minimal solver is ``solve(data, sample, models, scratch)``. A linear solver is ``fit(data, weights, model, scratch)``.
Both have the signature of the corresponding function of a problem. The wrapper has the name of the module. This package
imports only ``maths`` and ``compiled``.
"""
