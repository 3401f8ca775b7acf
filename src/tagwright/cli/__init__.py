"""The command line."""

from tagwright.cli.main import main

__all__ = ["main"]
