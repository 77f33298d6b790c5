"""The command line, `muster`: nouns and verbs over `muster.client`."""

from muster.cli.app import main

__all__ = ["main"]
