"""The lake that a verb of `lanceway lake` works on: from its options, the chosen namespace, or the environment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated

import typer

from lanceway.cli.session import Session

if TYPE_CHECKING:
    from lanceway.lake.store.database import LakeStore

Uri = Annotated[
    str | None,
    typer.Option(
        "--uri",
        help="The database, such as sqlite:///lake.db or postgresql://user@host/database. Others on this machine can "
        "read what a command is given: with a password in it, set LANCEWAY_DATABASE instead.",
    ),
]
Root = Annotated[
    str | None,
    typer.Option("--root", help="The folder or URI below which new tables are put; LANCEWAY_WAREHOUSE if left out."),
]
Metalake = Annotated[str | None, typer.Option("--metalake", help="The metalake; lanceway if left out.")]
Catalog = Annotated[str | None, typer.Option("--catalog", help="The catalog in the metalake; lake if left out.")]

_TYPE = "lake"


@dataclass(frozen=True)
class LakePlace:
    """A lake's database, and a catalog in it."""

    uri: str = field(repr=False)  # may hold a password
    settings: Mapping[str, str] = field(repr=False)  # all of them, as `connect` takes them

    @property
    def metalake(self) -> str:
        return self.settings.get("metalake", "lanceway")

    @property
    def catalog(self) -> str:
        return self.settings.get("catalog", "lake")

    @property
    def root(self) -> str:
        """Return the location of new tables; a local path is made absolute."""
        from lanceway.tables.storage.store import local_path

        root = self.settings.get("root")
        if not root:
            raise typer.BadParameter(
                "where are tables to be put? Give --root, or set LANCEWAY_WAREHOUSE.", param_hint="'--root'"
            )
        path = local_path(root)
        return root if path is None else str(path)

    @property
    def user(self) -> str:
        """Return the acting user, who owns what is created."""
        from lanceway.config import login

        return self.settings.get("user") or login()

    @property
    def storage_options(self) -> dict[str, str]:
        prefix = "storage."
        return {key[len(prefix) :]: value for key, value in self.settings.items() if key.startswith(prefix)}

    def agreeing_with_any_separator(self) -> LakePlace:
        """Return this lake without the separator and policy it was expected to have."""
        settings = {key: value for key, value in self.settings.items() if key not in ("separator", "policy")}
        return replace(self, settings=settings)

    @contextmanager
    def opened(self, *, upgrade: bool = False) -> Iterator[LakeStore]:
        """Open the database, which must exist and hold a lake of this version; with `upgrade` it may become one."""
        from lanceway.lake.store.database import open_store

        separator, policy = self.settings.get("separator"), self.settings.get("policy")
        store = open_store(self.uri, separator=separator, policy=policy, upgrade=upgrade)
        try:
            yield store
        finally:
            store.close()

    @contextmanager
    def bare(self) -> Iterator[LakeStore]:
        """Open the database, whatever it holds."""
        from lanceway.lake.store.database import LakeStore

        store = LakeStore(self.uri)
        try:
            yield store
        finally:
            store.close()


def place(session: Session, **given: str | None) -> LakePlace:
    """Return the lake to work on. An option wins over the chosen namespace, and that over the environment."""
    from lanceway import config

    refuse_without_packages()
    options = {name: value for name, value in given.items() if value is not None}
    settings = {**config.lake(), **_chosen(session), **options}
    only = session.only_namespace
    if "uri" not in settings and only is not None and only.type == _TYPE:
        settings = {**config.lake(), **only.settings, **session.settings, **options}
    if "uri" not in settings:
        raise typer.BadParameter(
            "which lake? Give --uri, choose one of the configuration file with --in NAME, or set LANCEWAY_DATABASE.",
            param_hint="'--uri'",
        )
    return LakePlace(settings["uri"], settings)


def _chosen(session: Session) -> dict[str, str]:
    """Return the settings of the namespace that the program's own options choose, if they do."""
    from lanceway import config

    if session.name is None and session.type is None:
        return dict(session.settings)
    named = config.namespace(session.name, session.config) if session.name is not None else None
    type_ = named.type if named else session.type
    if type_ != _TYPE:
        raise typer.BadParameter(f"that namespace is of type {type_}, and no lake.", param_hint="'--in'")
    return {**(named.settings if named else {}), **session.settings}


def refuse_without_packages() -> None:
    """Raise UnsupportedOperationError if a lake's packages are missing, and say how to get them."""
    from importlib.util import find_spec

    from lanceway.errors import UnsupportedOperationError

    missing = [name for name in ("sqlalchemy", "alembic") if find_spec(name) is None]
    if missing:
        raise UnsupportedOperationError(
            f"A lake needs {' and '.join(missing)}. Install what is missing: pip install 'lanceway[lake]'"
        )
