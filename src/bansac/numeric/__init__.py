"""Numerical building blocks, which know nothing of geometry and import nothing else of the package."""
