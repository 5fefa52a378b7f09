from tests.cli.conftest import bansac, blocked, interrupt, no_announcement

__all__ = ["bansac", "blocked", "interrupt", "no_announcement"]
