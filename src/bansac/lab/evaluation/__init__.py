"""Common code of the bench and the paper's experiments: methods, runner, tables and charts.

=================================  ================================================================================
:mod:`~.task`                      settings of a comparison; input of a method for one pair; errors of its model
:mod:`~.method`                    class of a method: settings of this package or a call of another library
:mod:`~.methods`, :mod:`~.peers`   methods by name: this package's in one table, other libraries' one file each
:mod:`~.pairs`                     unit of work over image pairs: several methods on one pair, in shuffled order
:mod:`~.experiment`                class of an experiment: units of work and a report over their rows
:mod:`~.grid`, :mod:`~.bench`      experiments over image pairs: the paper's and those of ``bansac bench``
:mod:`~.ablations`                 experiments over several values of one option
:mod:`~.budgets`                   accuracy over time: methods at several numbers of iterations
:mod:`~.speed`                     ``bansac bench speed``: solvers, iterations and calls on one thread
:mod:`~.hard`                      ``bansac bench hard``, ``noise`` and ``planes``: hard synthetic pairs
:mod:`~.posebench`                 ``bansac bench posebench``: the protocol of posebench on files of its format
:mod:`~.runner`                    runs the units of an experiment, measures the times, resumes an interrupted run
:mod:`~.provenance`                source, versions, machine and data that the rows depend on
:mod:`~.summary`, :mod:`~.tables`  means over sets; tables in the paper's layout, written by :mod:`~.render`
:mod:`~.charts`                    figures
=================================  ================================================================================

The package may import :mod:`bansac.executors`, :mod:`bansac.batch`, :mod:`bansac.lab.sets`,
:mod:`bansac.lab.metrics` and the packages below them. The experiments and the command line import it.
"""
