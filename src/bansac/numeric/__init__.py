"""Numerical building blocks that know nothing of geometry: compilation, random numbers, small matrices, polynomials.

It imports no other room.
"""
