"""The command line. A verb loads what it needs when it runs, so that `lanceway --help` is quick."""

from __future__ import annotations


def main() -> None:
    """Run the command line with this process's arguments; ends the process with its exit code."""
    from lanceway.cli.app import app

    app(prog_name="lanceway")
