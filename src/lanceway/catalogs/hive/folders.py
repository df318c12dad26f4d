"""Folders that a metastore must leave alone while it creates something in them.

A metastore creates the folder of a new database, catalog or table. Where the name turns out to be taken, it deletes a
folder that it has created itself, with all that the winner has written there by then. It never deletes one that was
there before: so a small file is kept in the folder meanwhile.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

from lanceway.errors import LanceNamespaceError, NamespaceAlreadyExistsError, TableAlreadyExistsError
from lanceway.tables.storage.store import open_store

_LOG = logging.getLogger(__name__)


@contextmanager
def kept(location: str, options: Mapping[str, str]) -> Iterator[None]:
    """Keep a file of its own in a folder while the block runs. Without access to the storage there is none."""
    # It is taken for a table's own file (tables.storage.own_files), so that a drop deletes one that was left behind.
    store, key = open_store(location, options), f".claim.{uuid.uuid4().hex}.part"
    try:
        store.put(key, b"")
    except LanceNamespaceError as error:
        _LOG.info("Something is created at %s without a file there: %s", location, error)
        yield
        return
    is_used = True
    try:
        yield
    except (NamespaceAlreadyExistsError, TableAlreadyExistsError):
        raise  # the winner uses the folder
    except LanceNamespaceError:
        is_used = False
        raise
    finally:
        with suppress(LanceNamespaceError):
            store.delete(key)
            if not is_used:
                store.remove_empty_folders()
