"""``python -m bansac.cli`` is the ``bansac`` command."""

from bansac.cli import main

main()
