"""How methods are compared: protocol, methods (ours and the peers'), runner, journal, tables, charts.

The benchmark and the experiments share it. It imports ``datasets``, the public functions and everything below them.
"""
