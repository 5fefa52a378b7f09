"""``bansac bench speed``: single-thread times of this package and other libraries, measured in one run.

A time is the minimum of many measurements that alternate with the other calls of the comparison. Compare ratios within
one run, not times of two runs.
"""
