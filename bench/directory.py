"""The directory catalog beside pylance's own directory namespace, in one run: `make bench-dir`.

Both read the same folder with 10, 1,000 and 10,000 tables: at the root, at the root when a manifest lies beside
the tables (where Lanceway also lists those tables of the root that only the manifest knows, which pylance leaves
out), and in a child namespace. A ratio below 1 means that Lanceway takes less time. Each figure is the best of
several, in milliseconds.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("LANCE_LOG", "error")

import lance
import pyarrow as pa
from lance.namespace import DirectoryNamespace
from lance_namespace import (
    CreateNamespaceRequest,
    DescribeTableRequest,
    LanceNamespace,
    ListTablesRequest,
    TableExistsRequest,
)
from rich.table import Table

from lanceway.catalogs import DirectoryCatalog
from sheet import Sheet

SIZES = (10, 1_000, 10_000)
SPACE = "space"
# Each figure is taken until it has used this much time, and at least so often.
SECONDS, FEWEST = 1.0, 3


def names(count: int) -> list[str]:
    return [f"table_{number:06}" for number in range(count)]


def make_root(root: Path, count: int) -> None:
    """`count` tables in the folder, copies of one."""
    model = root / "model.lance"
    lance.write_dataset(pa.table({"x": [1]}), str(model))
    for name in names(count):
        shutil.copytree(model, root / f"{name}.lance", copy_function=os.link)
    shutil.rmtree(model)


def make_child(root: Path, count: int) -> None:
    """The same tables in a child namespace too: rows of the manifest, added at once."""
    DirectoryNamespace(root=str(root)).create_namespace(CreateNamespaceRequest(id=[SPACE]))
    manifest = lance.dataset(str(root / "__manifest"))
    columns = {
        "object_id": [f"{SPACE}${name}" for name in names(count)],
        "object_type": ["table"] * count,
        "location": [f"{name}.lance" for name in names(count)],
        "metadata": [None] * count,
        "base_objects": [None] * count,
    }
    lance.write_dataset(pa.table(columns, schema=manifest.schema), manifest, mode="append")


def measure(ours: Callable[[], object], theirs: Callable[[], object]) -> tuple[float, float]:
    """Milliseconds of the fastest run of each: what the machine can do when nothing disturbs it.

    They take turns, so that what disturbs one disturbs the other as well.
    """
    best, spent, runs = [float("inf")] * 2, 0.0, 0
    while runs < FEWEST or spent < SECONDS:
        for place, work in enumerate((ours, theirs)):
            began = time.perf_counter()
            work()
            took = time.perf_counter() - began
            best[place], spent = min(best[place], took), spent + took
        runs += 1
    return best[0] * 1000, best[1] * 1000


def operations(catalog: LanceNamespace, space: list[str], count: int) -> dict[str, Callable[[], object]]:
    table = [*space, names(count)[count // 2]]
    return {
        "list, a page of 100": lambda: catalog.list_tables(ListTablesRequest(id=space, limit=100)),
        "list, all": lambda: catalog.list_tables(ListTablesRequest(id=space)),
        "describe": lambda: catalog.describe_table(DescribeTableRequest(id=table)),
        "exists": lambda: catalog.table_exists(TableExistsRequest(id=table)),
    }


def compare(root: Path, count: int, report: Table) -> None:
    make_root(root, count)
    compare_in(root, [], "root", count, report)
    make_child(root, count)
    compare_in(root, [], "root, manifest", count, report)
    compare_in(root, [SPACE], "child", count, report)


def compare_in(root: Path, space: list[str], place: str, count: int, report: Table) -> None:
    mine = operations(DirectoryCatalog(path=str(root)), space, count)
    peer = operations(DirectoryNamespace(root=str(root)), space, count)
    check(mine["list, all"](), peer["list, all"]())
    for name in mine:
        ours, theirs = measure(mine[name], peer[name])
        report.add_row(place, f"{count:,}", name, f"{ours:.3f}", f"{theirs:.3f}", f"{ours / theirs:.2f}")


def check(mine: object, peer: object) -> None:
    if getattr(mine, "tables", None) != getattr(peer, "tables", ()):
        raise SystemExit("The two do not list the same tables; their times cannot be compared.")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sizes", nargs="*", type=int, default=SIZES, help="How many tables, such as 10 1000.")
    report = Table("where", "tables", "operation", "lanceway ms", "pylance ms", "ratio", title="Directory catalog")
    for count in parser.parse_args().sizes:
        root = Path(tempfile.mkdtemp(prefix="lanceway-bench-"))
        try:
            compare(root, count, report)
        finally:
            shutil.rmtree(root)
    Sheet(width=110).print(report)


if __name__ == "__main__":
    main()
