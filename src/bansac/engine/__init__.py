"""The estimation: Algorithm 1 (``loop``), the network, samplers, scores, verification, stopping criteria, refinement.

It uses problems only by their contract. It imports ``problems``, ``solvers``, ``maths`` and ``compiled``.
"""
