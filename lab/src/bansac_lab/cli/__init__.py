"""The commands ``bansac bench``, ``bansac data`` and ``bansac experiments``."""
