"""Comparison of estimators and reproduction of the paper's experiments.

===============  ==============================================================================
``evaluation``   protocol of a comparison, methods, other libraries, runner, tables and charts
``experiments``  tables and figures of the paper, one module each
``metrics``      errors of poses, homographies and curves; mAA and AUC
``sets``         benchmark sets with ground truth: readers and download
===============  ==============================================================================

The package imports the rest of the library. Only ``cli`` imports it.
"""
