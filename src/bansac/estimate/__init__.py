"""The public functions: check the input, choose the options, run the engine, build the result.

This room may import the options, results and checks beside it, and the engine, problems, solvers and numeric rooms.
"""
