"""The settings of every catalog and of the server as a page: `python docs/settings.py > docs/reference/settings.md`."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from lanceway.catalogs.contract.base import Catalog
from lanceway.catalogs.registry import CATALOGS, catalog_class
from lanceway.config import CATALOG, SERVER, Setting

OPENING = """\
# Settings

<!-- Made from the code by docs/settings.py; a test compares the two. -->

What `lanceway.connect(type, …)`, a section of `lanceway.toml` and the environment may set.
[Connecting](../guide/connect.md) says where each value comes from.

Three keys belong to every section of `lanceway.toml` and not to a catalog: `type`, which chooses one of the
following, `at`, the namespace inside it that becomes the root, and `jobs`, the database in which a catalog that has
none of its own records [background jobs](../guide/background-jobs.md): an address, or `home`.
"""


SERVER_OPENING = """\
## The server

The section `[server]` of `lanceway.toml`; a variable `LANCEWAY_SERVER__PORT` overrides its `port`, and so on.
"""
CATALOGS_OPENING = """\
## What the server mounts

A section `[catalogs.NAME]` of `lanceway.toml` has the settings of its type, which are those above, and these.
[Federation](../guide/federation.md) says more.
"""


def page() -> str:
    of_types = (line for type_ in sorted(CATALOGS) for line in _section(type_))
    server = (SERVER_OPENING, *_table(SERVER))
    return "\n".join([OPENING, *of_types, *server, CATALOGS_OPENING, *_table(CATALOG)])


def _section(type_: str) -> Iterator[str]:
    found = catalog_class(type_)
    assert issubclass(found, Catalog)
    yield from (f"## {type_}", "", f"`lanceway.catalogs.{found.__name__}`", "")
    yield from _table(found.SETTINGS)


def _table(rows: Sequence[Setting]) -> Iterator[str]:
    yield from ("| setting | meaning | values | default |", "|---|---|---|---|")
    yield from (_row(row) for row in rows)
    yield ""


def _row(row: Setting) -> str:
    names = ", ".join(f"`{name}`" for name in (row.name, *row.aliases))
    default = "required" if row.required else "" if row.default in (None, "") else f"`{str(row.default).lower()}`"
    return f"| {names} | {row.help} | {_values(row)} | {default} |"


def _values(row: Setting) -> str:
    if row.choices:
        return ", ".join(f"`{choice}`" for choice in row.choices)
    words = {str: "text", bool: "true or false", int: "a whole number", float: "a number"}
    return f"{words[row.kind]}, secret" if row.secret else words[row.kind]


if __name__ == "__main__":
    sys.stdout.write(page())
