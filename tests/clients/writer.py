"""A program that appends rows through a foreign client: `writer.py CLIENT PROPERTIES TABLE FIRST COUNT`.

It waits for a line on its input, so that several begin at once, and prints each row's id once the client has
said that it is there.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable

os.environ.setdefault("LANCE_LOG", "error")

import pyarrow as pa

IMPLEMENTATION = "lanceway.catalogs.LakeCatalog"
Append = Callable[[pa.Table], object]


def implementation(properties: dict[str, str]) -> str:
    """What a client is to connect to: a server by its address, or else a lake."""
    return "rest" if properties["uri"].startswith("http") else IMPLEMENTATION


def pylance(properties: dict[str, str], table: list[str]) -> Append:
    import lance
    import lance_namespace

    catalog = lance_namespace.connect(implementation(properties), properties)
    return lambda rows: lance.write_dataset(rows, namespace_client=catalog, table_id=table, mode="append")


def open_dataset(properties: dict[str, str], table: list[str]) -> Append:
    """One that opens the table once and goes on from there."""
    import lance
    import lance_namespace

    catalog = lance_namespace.connect(implementation(properties), properties)
    dataset = lance.dataset(namespace_client=catalog, table_id=table)
    return lambda rows: dataset.insert(rows)


def lancedb(properties: dict[str, str], table: list[str]) -> Append:
    import lancedb

    database = lancedb.connect_namespace(implementation(properties), properties)
    return database.open_table(table[-1], namespace_path=table[:-1]).add


def daft(properties: dict[str, str], table: list[str]) -> Append:
    import daft
    import daft_lance

    address = {"namespace_impl": implementation(properties), "namespace_properties": properties, "table_id": table}
    return lambda rows: daft_lance.write_lance(daft.from_arrow(rows), mode="append", **address)


def main(client: str, properties: str, table: str, first: str, count: str) -> None:
    append: Append = globals()[client](json.loads(properties), json.loads(table))
    say("ready")
    sys.stdin.readline()
    for number in range(int(first), int(first) + int(count)):
        append(pa.table({"id": pa.array([number], pa.int64())}))
        say(str(number))


def say(word: str) -> None:
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
