"""The catalogs between which a job works, as the command line names them.

`NAME` is a root namespace of the configuration file, `NAME:team.sales` the namespace in it that becomes the root, and
what looks like a path or a URI is a folder of tables. Settings, and so secrets, stay in the file and the environment.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from lanceway.cli.session import Session
from lanceway.identifiers import Identifier

if TYPE_CHECKING:
    from lance_namespace import LanceNamespace

Source = Annotated[
    str,
    typer.Argument(metavar="SOURCE", help="Where tables come from: NAME or NAME:NAMESPACE of the file, or a folder."),
]
Target = Annotated[
    str,
    typer.Argument(metavar="TARGET", help="Where they go: NAME or NAME:NAMESPACE of the file, or a folder."),
]


def is_folder(text: str) -> bool:
    return "/" in text or text.startswith(".")


def opened(session: Session, text: str) -> LanceNamespace:
    """Open the catalog that a SOURCE or TARGET names."""
    from lanceway import config

    config.quiet_lance()
    from lanceway.catalogs.connect import connect

    if is_folder(text):
        return connect("dir", settings={"path": text})
    name, _, inside = text.partition(":")
    at = {"at": list(Identifier.parse(inside, session.delimiter))} if inside else {}
    return connect(None, name=name, config=session.config, settings=at)


def storage(session: Session, text: str) -> tuple[str, dict[str, str]]:
    """Return the folder or URI to crawl and its storage options: as given, or of a `dir` of the configuration file."""
    from lanceway import config

    if is_folder(text):
        return text, {}
    named = config.namespace(text, session.config)
    if named.type != "dir":
        raise typer.BadParameter(
            f"{text!r} is of type {named.type}, and only a folder can be crawled; sync brings its tables over.",
            param_hint="'ROOT'",
        )
    options = {
        key.removeprefix("storage."): value for key, value in named.settings.items() if key.startswith("storage.")
    }
    return named.settings.get("path") or named.settings["root"], options
