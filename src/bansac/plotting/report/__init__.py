"""HTML report of a result with matches coloured by posterior and a replay of the run; and a table for notebooks.

The page is one self-contained file.
"""
