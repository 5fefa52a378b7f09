"""Numerical building blocks without geometry. This package imports no other part of bansac."""
