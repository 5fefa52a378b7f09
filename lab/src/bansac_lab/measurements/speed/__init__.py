"""``bansac bench speed``: single-thread times of this package and other libraries, measured in one run."""
