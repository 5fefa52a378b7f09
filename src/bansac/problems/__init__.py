"""The estimation problems, one per module: residuals, checks, defaults and a ``Problem``.

``contract`` lists the functions of a problem, ``problem`` checks and compiles them, and ``trial`` tests user functions
before they are compiled.
"""
