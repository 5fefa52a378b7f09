"""The laboratory: what compares estimators and reproduces the paper. It imports the library; only ``cli`` imports it.

===============  ============================================================================
``evaluation``   the protocol of a comparison, methods, peers, the runner, tables and charts
``experiments``  the tables and figures of the paper, one module each
``metrics``      errors of poses, homographies and curves; mAA and AUC
``sets``         benchmark sets with ground truth: readers and download
===============  ============================================================================
"""
