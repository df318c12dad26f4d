"""Connecting to a catalog by its location, by a type and settings, or by a name in `lanceway.toml`."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, cast

from lanceway import config as configuration
from lanceway.catalogs import addresses
from lanceway.catalogs.registry import catalog_class, known_types
from lanceway.errors import InvalidInputError
from lanceway.identifiers import Identifier

if TYPE_CHECKING:
    from lance_namespace import LanceNamespace

    from lanceway.catalogs.contract.base import Catalog
    from lanceway.catalogs.contract.jobs import LazyJobQueue

# The settings that identify a catalog; others say how to reach it, and may differ where a worker runs.
_IDENTITY = ("catalog", "catalog_id", "endpoint", "path", "region", "uri", "warehouse")


def open_address(
    address: str | os.PathLike[str] | None,
    *,
    type_: str | None,
    name: str | None,
    config: str | Path | None,
    settings: Mapping[str, object],
) -> Catalog:
    """Return the catalog at a location, or by its type or name, with the methods for users in any case."""
    from lanceway.catalogs.handles.contents import CatalogContents
    from lanceway.catalogs.wrappers.forward import Wrapper

    if address is not None:
        if type_ is not None or name is not None:
            raise InvalidInputError(
                f"connect takes an address ({os.fspath(address)!r}), a type or a name, not two of them."
            )
        type_, name, implied = addresses.read(address, settings, config, known_types())
        settings = {**implied, **settings}
    catalog = connect(type_, name=name, config=config, settings=settings)
    # A wrapper has every method of a catalog that users call.
    return cast("Catalog", catalog if isinstance(catalog, CatalogContents) else Wrapper(catalog))


def connect(
    type_: str | None,
    *,
    name: str | None = None,
    config: str | Path | None = None,
    settings: Mapping[str, object] | None = None,
) -> LanceNamespace:
    """Return a catalog by its type, or by its name in the configuration, over which `settings` win."""
    options = dict(_flattened(settings or {}))
    at, jobs = options.pop("at", None), options.pop("jobs", None)
    if name is not None:
        if type_ is not None:
            raise InvalidInputError(f"connect takes a type ({type_!r}) or a name ({name!r}), not both.")
        named = configuration.namespace(name, config)
        type_, at, jobs = named.type, at or named.at, jobs or named.jobs
        options = {**named.settings, **options}
    if type_ is None:
        raise InvalidInputError(
            'connect needs a location, such as connect("./warehouse"), or a type and its settings, such as '
            f'connect("dir", path="./warehouse"), or a name from {configuration.FILE_NAME}, such as '
            'connect(name="lake").'
        )
    catalog = catalog_class(type_)(**options)
    root = Identifier.of(at) if at else None  # type: ignore[arg-type]
    if jobs:
        catalog = attach_queue(catalog, str(jobs), name=name, at=root, config=config)
    if root is None:
        return catalog
    from lanceway.catalogs.wrappers.subtree import Subtree

    return Subtree(catalog, root)


def attach_queue(
    catalog: LanceNamespace, jobs: str, *, name: str | None, at: Identifier | None, config: str | Path | None
) -> LanceNamespace:
    """Return the catalog with its background jobs recorded in the database `jobs`.

    Raises InvalidInputError for a catalog that takes no queue.
    """
    from lanceway.catalogs.contract.base import Catalog
    from lanceway.catalogs.contract.hooks import BACKGROUND
    from lanceway.catalogs.contract.jobs import LazyJobQueue

    if name is None:
        raise InvalidInputError(
            f"The setting jobs is for a catalog that has a name, which a worker connects to it with too: add a section "
            f"[namespaces.NAME] with these settings to {configuration.FILE_NAME}, and connect by that name."
        )
    if not isinstance(catalog, Catalog) or any(BACKGROUND & supported for supported in catalog.support().values()):
        raise InvalidInputError(
            f"[namespaces.{name}] has the setting jobs, but {catalog!r} keeps its jobs itself, or has none. Leave jobs "
            "out."
        )
    queue = LazyJobQueue(jobs, _queue_root(catalog, at), name, config=config)
    return catalog.with_job_queue(queue if at is None else queue.inside(at))


def attached_queue(catalog: LanceNamespace) -> LazyJobQueue | None:
    """Return the queue that `attach_queue` has added to a catalog."""
    from lanceway.catalogs.contract.hooks import CatalogHooks
    from lanceway.catalogs.contract.jobs import LazyJobQueue
    from lanceway.catalogs.contract.limits import unwrap

    inner, _ = unwrap(catalog)
    queue = inner._attached_queue if isinstance(inner, CatalogHooks) else None
    return queue if isinstance(queue, LazyJobQueue) else None


def _queue_root(catalog: Catalog, at: Identifier | None) -> str:
    """Return what tells this catalog from others of the same name in one database; it holds no secret."""
    settings = {
        key: str(catalog._settings[key])
        for key in _IDENTITY
        if catalog._settings.get(key) is not None and not configuration.is_secret(catalog.SETTINGS, key)
    }
    text = json.dumps([catalog.TYPE, list(at or ()), settings], sort_keys=True)
    return f"namespace:{hashlib.sha256(text.encode()).hexdigest()[:32]}"


def _flattened(settings: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """Write the mapping `storage_options={"region": …}` as single settings `storage.region`."""
    for key, value in settings.items():
        if key == "storage_options" and isinstance(value, Mapping):
            yield from ((f"storage.{option}", item) for option, item in value.items())
        else:
            yield key, value
