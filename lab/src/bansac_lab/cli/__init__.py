"""The commands ``bansac bench`` and ``bansac experiments``."""
