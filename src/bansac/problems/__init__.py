"""What is estimated, one module a problem: residuals, checks, defaults, non-minimal fit; ``problem`` is the contract.

It imports ``solvers`` and ``numeric``.
"""
