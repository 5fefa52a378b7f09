"""``python -m bansac`` is the ``bansac`` command."""

from bansac.cli import main

main()
