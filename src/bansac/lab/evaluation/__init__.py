"""What the bench and the experiments share: one table of methods, one runner, one journal, tables and charts.

=================================  ====================================================================================
:mod:`~.task`                      settings of a comparison; one pair of images as a method gets it, and its errors
:mod:`~.methods`, :mod:`~.peers`   what can be compared: this package's methods, and other libraries, one file each
:mod:`~.pairs`                     the unit of work over image pairs: several methods on one pair, in shuffled order
:mod:`~.experiment`                what an experiment is: units of work, and a report over their rows
:mod:`~.grid`, :mod:`~.bench`      the two kinds of experiments over image pairs: the paper's, and ``bansac bench``
:mod:`~.ablations`                 experiments that give one option several values
:mod:`~.speed`                     ``bansac bench speed``: solvers, iterations and calls on one thread
:mod:`~.runner`                    runs the units of an experiment, takes the times, goes on where a run was interrupted
:mod:`~.journal`                   finished units on disk
:mod:`~.provenance`                what rows depend on: source, versions, machine, data
:mod:`~.summary`, :mod:`~.tables`  means over sets; tables in the paper's layout, written by :mod:`~.render`
:mod:`~.charts`                    figures
:mod:`~.files`                     the folder of a run
=================================  ====================================================================================

It may import :mod:`bansac.executors`, which run the units, :mod:`bansac.datasets` and what is below them; the
experiments and the command line import it.
"""
