"""Connecting: from a type and settings, or a name in `lanceway.toml`, to a catalog."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from lanceway import config as configuration
from lanceway.catalogs.registry import catalog_class
from lanceway.errors import InvalidInputError
from lanceway.identifiers import Identifier

if TYPE_CHECKING:
    from lance_namespace import LanceNamespace


def connect(
    type_: str | None,
    *,
    name: str | None = None,
    config: str | Path | None = None,
    settings: Mapping[str, object] | None = None,
) -> LanceNamespace:
    """A catalog by its type, or by the name that the configuration gives it. Settings given here win."""
    given = dict(_flattened(settings or {}))
    at, jobs = given.pop("at", None), given.pop("jobs", None)
    if name is not None:
        if type_ is not None:
            raise InvalidInputError(f"connect takes a type ({type_!r}) or a name ({name!r}), not both.")
        named = configuration.namespace(name, config)
        type_, at, jobs = named.type, at or named.at, jobs or named.jobs
        given = {**named.settings, **given}
    if type_ is None:
        raise InvalidInputError(
            'connect needs a type and its settings, such as connect("dir", path="./warehouse"), '
            f'or a name from {configuration.FILE_NAME}, such as connect(name="lake").'
        )
    catalog, inside = catalog_class(type_)(**given), Identifier.of(at) if at else None  # type: ignore[arg-type]
    if jobs:
        from lanceway.catalogs.contract import lazy_job_queue

        catalog = lazy_job_queue.lend(catalog, str(jobs), name=name, at=inside, config=config)
    return catalog if inside is None else _inside(catalog, inside)


def _inside(catalog: LanceNamespace, at: Identifier) -> LanceNamespace:
    from lanceway.catalogs.wrappers.subtree import Subtree

    return Subtree(catalog, at)


def _flattened(settings: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """`storage_options={"region": …}` is the convenient way to write `**{"storage.region": …}`."""
    for key, value in settings.items():
        if key == "storage_options" and isinstance(value, Mapping):
            yield from ((f"storage.{option}", item) for option, item in value.items())
        else:
            yield key, value
