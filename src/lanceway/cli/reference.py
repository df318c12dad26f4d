"""Generate the reference of the command line from its own help.

`python -m lanceway.cli.reference > docs/reference/cli.md` renews it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import typer

from lanceway.cli.help import without_examples

_INTRODUCTION = """\
# Command line: every command

This page is made from the program's own help by `python -m lanceway.cli.reference`.

**Where it works.** `lanceway --in NAME …` works in a root namespace of `lanceway.toml`; with exactly one
namespace in the file, `--in` may be left out. `lanceway --path ./warehouse …` works in a folder without a
file, and `lanceway --type TYPE --set KEY=VALUE …` in any other catalog. These options, and the others of `lanceway`
itself, may stand before the verb or after it; where a verb has an option of that name, it is the verb's.

**Identifiers** are names joined by dots: `team.sales.orders`. `--delimiter '$'` reads and shows them with
another delimiter, for names that hold a dot. The root namespace is an empty text, or nothing at all.

**Output.** Results go to standard output; progress, questions and errors to standard error. People get
tables, programs get one JSON document with `--json`, before or after the verb:

| verb | document |
|---|---|
| lists | an array; with `--limit` or `--page-token` an object that has the page and `page_token`, null at the end |
| `tables query` | an array with one row to a line, written as the rows arrive |
| `exists` | `{"exists": true}` |
| `tables count` | `{"count": 3}` |
| all others | an object with the fields that the Lance Namespace contract gives the answer |

In rows, bytes are base64, times are ISO 8601, decimals are strings, and NaN is null. Credentials among a
table's storage options are shown as `***`.

**Exit codes.**

| code | meaning |
|---|---|
| 0 | done |
| 1 | refused or failed; standard error has the reason in one line, with the contract's code |
| 2 | wrong use: an unknown option, a missing file, no namespace chosen |
| 130 | interrupted by Ctrl-C |
| 141 | the reader of the output has closed it, as `head` does |

With `--json` the reason is `{"error": "…", "code": 4}`, also on standard error.

"""
# Typer's own, whose help depends on the shell that asks.
_COMPLETION = {"install_completion", "show_completion", "help"}


def reference() -> str:
    """Return the whole page."""
    from lanceway.cli.app import app

    root = typer.main.get_command(app)
    return _INTRODUCTION + "\n".join(_section("lanceway", root))


def _section(path: str, command: Any) -> Iterator[str]:
    yield f"{'#' * min(path.count(' ') + 2, 4)} `{path}`\n"
    text, examples = without_examples(command.help or "")
    yield f"{text.strip()}\n"
    if examples:
        yield "\n".join(("```sh", *examples, "```", ""))
    arguments = [parameter for parameter in command.params if parameter.param_type_name == "argument"]
    options = [p for p in command.params if p.param_type_name == "option" and not _is_left_out(p)]
    if arguments or options:
        yield "| | |\n|---|---|"
        yield from (f"| `{_cell(_name(each))}` | {_cell(each.help)} |" for each in (*arguments, *options))
        yield ""
    for name, child in getattr(command, "commands", {}).items():
        if not child.hidden:
            yield from _section(f"{path} {name}", child)


def _is_left_out(option: Any) -> bool:
    return option.hidden or option.name in _COMPLETION


def _name(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return str(parameter.metavar)
    names = ", ".join(parameter.opts) + "".join(f" / {name}" for name in parameter.secondary_opts)
    return names if parameter.is_flag else f"{names} {parameter.metavar or parameter.name.rstrip('_').upper()}"


def _cell(text: str | None) -> str:
    return (text or "").strip().replace("|", "\\|")


if __name__ == "__main__":
    sys.stdout.write(reference())
