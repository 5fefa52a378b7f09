"""Minimal and linear solvers, one file each: the compiled kernel, and a public function on NumPy arrays.

It imports ``numeric`` only.
"""
