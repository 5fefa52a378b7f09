"""How it is estimated: Algorithm 1 (``loop``), the network, samplers, scores, verification, stops, refinement.

It knows problems by their contract only. It imports ``problems``, ``solvers`` and ``numeric``.
"""
