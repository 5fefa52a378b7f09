"""What can be estimated, one module a problem: its residuals, checks, defaults and its ``Problem``.

``problem`` is the contract between a problem and the loop, ``trial`` tries a user's functions before they are compiled.
Imports ``solvers`` and ``numeric`` only.
"""
