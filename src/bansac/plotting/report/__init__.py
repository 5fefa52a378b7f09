"""HTML report of a result with matches coloured by posterior and a replay of the run, in one self-contained file."""
