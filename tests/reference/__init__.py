"""Slow, literal reference versions of the kernels."""
