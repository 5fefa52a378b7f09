"""Libraries to compare, one adapter and its rows of settings a module.

An adapter converts a :class:`~.library.Task` to the call of its library, and the answer to a model. Thresholds, limits
and variants are settings of a row. To add a library, add its module with an adapter and a tuple ``METHODS``, and its
package to the extra ``peers`` of ``lab/pyproject.toml``.
"""

import pkgutil

PEERS = tuple(module.name for module in pkgutil.iter_modules(__path__) if module.name not in ("library", "methods"))
"""Names of the modules of other libraries, sorted."""
