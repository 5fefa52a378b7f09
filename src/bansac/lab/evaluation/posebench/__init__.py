"""Protocol of posebench, for this package and other libraries: ``bansac bench posebench``.

====================  =================================================
:mod:`~.estimators`   the methods, with posebench's settings
:mod:`~.protocol`     errors, tables and the experiment
====================  =================================================
"""
