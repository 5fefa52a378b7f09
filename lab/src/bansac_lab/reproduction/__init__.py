"""The tables of ``docs/reproduction.md``: ours from ``benchmarks/experiments``, the paper's from ``paper.toml``."""
