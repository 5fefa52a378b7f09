"""The public functions: check the input, choose the options, run the engine, build the result.

This package may import the modules for options, results and validation, and the packages ``engine``, ``problems``,
``solvers``, ``maths`` and ``compiled``.
"""
