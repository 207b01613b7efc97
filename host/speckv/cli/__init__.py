"""The command `speckv`: `entry` reads its arguments; what a subcommand does is in modules of its own."""

from speckv.cli.entry import main

__all__ = ["main"]
