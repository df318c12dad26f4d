"""Lanceway: one governed namespace for every Lance table, wherever its metadata lives.

    import lanceway

    lake = lanceway.connect("./warehouse")
    lake.create("fruit", [{"id": 1, "name": "apple"}])

Importing it is cheap: what is heavy is loaded when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from lanceway.identifiers import Identifier, parse

if TYPE_CHECKING:
    import os
    from pathlib import Path

    from lanceway.catalogs.contract.base import Catalog
    from lanceway.catalogs.handles.table import Table
    from lanceway.errors import (
        ConcurrentModificationError,
        ErrorCode,
        InternalError,
        InvalidInputError,
        InvalidTableStateError,
        LanceNamespaceError,
        NamespaceAlreadyExistsError,
        NamespaceNotEmptyError,
        NamespaceNotFoundError,
        PermissionDeniedError,
        ServiceUnavailableError,
        TableAlreadyExistsError,
        TableBranchAlreadyExistsError,
        TableBranchNotFoundError,
        TableColumnNotFoundError,
        TableIndexAlreadyExistsError,
        TableIndexNotFoundError,
        TableNotFoundError,
        TableSchemaValidationError,
        TableTagAlreadyExistsError,
        TableTagNotFoundError,
        TableVersionNotFoundError,
        ThrottlingError,
        TransactionNotFoundError,
        UnauthenticatedError,
        UnknownKeyWarning,
        UnsupportedOperationError,
    )

__version__ = "0.1.0"

__all__ = [
    "Catalog",
    "ConcurrentModificationError",
    "ErrorCode",
    "Identifier",
    "InternalError",
    "InvalidInputError",
    "InvalidTableStateError",
    "LanceNamespaceError",
    "NamespaceAlreadyExistsError",
    "NamespaceNotEmptyError",
    "NamespaceNotFoundError",
    "PermissionDeniedError",
    "ServiceUnavailableError",
    "Table",
    "TableAlreadyExistsError",
    "TableBranchAlreadyExistsError",
    "TableBranchNotFoundError",
    "TableColumnNotFoundError",
    "TableIndexAlreadyExistsError",
    "TableIndexNotFoundError",
    "TableNotFoundError",
    "TableSchemaValidationError",
    "TableTagAlreadyExistsError",
    "TableTagNotFoundError",
    "TableVersionNotFoundError",
    "ThrottlingError",
    "TransactionNotFoundError",
    "UnauthenticatedError",
    "UnknownKeyWarning",
    "UnsupportedOperationError",
    "__version__",
    "connect",
    "parse",
]

_HANDLES = {"Catalog": "lanceway.catalogs.contract.base", "Table": "lanceway.catalogs.handles.table"}


def connect(
    address: str | os.PathLike[str] | None = None,
    /,
    *,
    type: str | None = None,  # noqa: A002 - the specification's own word
    name: str | None = None,
    config: str | Path | None = None,
    **settings: object,
) -> Catalog:
    """Connect to a catalog: by its location, by its type and settings, or by its name in `lanceway.toml`.

    A location is a folder (`./warehouse`, `s3://bucket/warehouse`), a server (`https://host`) or the database of a lake
    (`sqlite:///lake.db`, `postgresql://host/lake`). `connect("dir", path="./warehouse")` takes the type and what it
    needs. `connect("prod")` reads the section `[namespaces.prod]`; settings given here override the file's, as in
    `connect(name="prod", token="…")`. Settings with a dot are given as `**{"storage.region": "…"}` or, for storage, as
    `storage_options={"region": "…"}`.
    """
    from lanceway.catalogs.connect import open_address

    return open_address(address, type_=type, name=name, config=config, settings=settings)


if not TYPE_CHECKING:  # a type checker knows the names by the imports above, and refuses others

    def __getattr__(attribute: str) -> object:
        if attribute in _HANDLES:
            return getattr(importlib.import_module(_HANDLES[attribute]), attribute)
        # Looked at before it is loaded: `from lanceway import config` asks here too, and needs no error tree.
        if attribute.endswith(("Error", "Warning")) or attribute == "ErrorCode":
            errors = importlib.import_module("lanceway.errors")
            if attribute in errors.__all__:
                return getattr(errors, attribute)
        raise AttributeError(f"module {__name__!r} has no attribute {attribute!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
