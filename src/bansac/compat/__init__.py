"""Doors for programs that were written for other libraries: their signatures, our estimators.

This room imports the public functions and what is below them; no other module imports it.
"""
