"""The contract as data: its operations, and the request that each takes."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import get_type_hints

import lance_namespace
from lance_namespace import LanceNamespace
from pydantic import BaseModel


def _requests() -> dict[str, type[BaseModel]]:
    methods = {name: method for name, method in vars(LanceNamespace).items() if not name.startswith("_")}
    hints = {name: get_type_hints(method, vars(lance_namespace)) for name, method in methods.items()}
    return {name: types["request"] for name, types in hints.items() if "request" in types}


# Every public operation with its request's model, in the contract's own order.
REQUESTS: Mapping[str, type[BaseModel]] = MappingProxyType(_requests())
OPERATIONS: tuple[str, ...] = tuple(REQUESTS)

# The operations that take Arrow data beside their request. Each has a twin that takes a reader,
# and `query_table` has one that gives a reader.
WITH_DATA = ("create_table", "insert_into_table", "merge_insert_into_table")


def stream_twin(operation: str) -> str:
    return f"{operation}_stream"
