"""The estimation problems, one per module: residuals, checks, defaults and a ``Problem``.

``problem`` defines the contract between a problem and the loop. ``trial`` tests user functions before they are
compiled. The package imports ``solvers``, ``maths`` and ``compiled`` only.
"""
