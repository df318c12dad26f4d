"""Benchmarks in a short form, each beside its peer in the same run, and the page with their figures: `make bench`.

Every part is a benchmark of this folder with fewer tables, rows and seconds than it has by itself. The tables that it
prints go to the page, `docs/reference/numbers.md`, with a chart of how many times as fast as the peer we are: also
where that is less than once. The machine should have nothing else to do. Some parts alone: `--only folders,lancedb`.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from chart import Bar, chart, times
from sheet import VARIABLE, Figures, kept

BENCH = Path(__file__).parent
DOCS = BENCH.parent / "docs"
PACKAGES = ("pylance", "lancedb", "lance-namespace", "lance-namespace-impls", "pyarrow", "pyiceberg", "pyspark")
OURS = "lanceway, 1 proc."
_QUIET = 1.0  # the load of a machine that has nothing else to do
_ALIKE = 1.1  # two that differ by less are as fast as each other: so much differs from run to run


@dataclass(frozen=True)
class Part:
    """One benchmark: how it is run, and which of its columns say what."""

    name: str
    title: str
    about: str
    script: str
    options: tuple[str, ...]
    smallest: tuple[str, ...]
    ratio: str  # the column, or the end of its name
    label: str  # what names a row, from its columns and its table's title
    of_time: bool  # a ratio of times, where less is faster; otherwise of requests in the same time
    server: str | None = None  # rows of this server alone
    make: str = ""

    def bars(self, tables: Sequence[Figures]) -> Iterator[Bar]:
        for table in tables:
            heads = table.heads
            place = next((number for number, head in enumerate(heads) if head and head.endswith(self.ratio)), None)
            if place is None:
                continue
            for row in table.rows:
                if self.server and row[heads.index("server")] != self.server:
                    continue
                if (ratio := _number(row[place])) is not None:
                    label = self.label.format(**{**dict(zip(heads, row, strict=True)), "title": table.title})
                    yield Bar(label, 1 / ratio if self.of_time else ratio)


PARTS = (
    Part(
        "folders",
        "Folders",
        "`DirectoryCatalog` and pylance's `DirectoryNamespace`, in one process on the same folder.",
        "directory.py",
        ("10", "1000"),
        ("10",),
        "ratio",
        "{operation}, {where}, {tables} tables",
        of_time=True,
        make="bench-dir",
    ),
    Part(
        "lake",
        "The lake",
        "A lake on SQLite, with fsync on, and pylance's `DirectoryNamespace` with its manifest. Medians.",
        "lake.py",
        ("100", "10000", "--databases", "sqlite", "--seconds", "1", "--writers", "0"),
        ("100", "--databases", "sqlite", "--seconds", "0.1", "--writers", "0"),
        "sqlite",
        "{operation}",
        of_time=False,
        make="bench-lake",
    ),
    Part(
        "server",
        "Lance REST",
        "The server with one process and a token, on a lake in SQLite, and pylance's `RestAdapter`. Requests a second.",
        "server.py",
        ("1000", "--seconds", "1", "--no-large"),
        ("10", "--seconds", "0.1", "--no-large"),
        "ratio",
        "{operation}, {where}",
        of_time=False,
        server=OURS,
        make="bench-server",
    ),
    Part(
        "lancedb",
        "LanceDB's remote client",
        "LanceDB's client through the server, and LanceDB in its own process, on the same folder: what a server costs.",
        "lancedb_remote.py",
        ("--rows", "20000", "--rounds", "3", "--seconds", "1", "--clients", "1", "16"),
        ("--rows", "1000", "--rounds", "1", "--seconds", "0.1", "--clients", "1"),
        "ratio",
        "{operation}, clients: {clients}",
        of_time=True,
        make="bench-lancedb",
    ),
    Part(
        "catalogs",
        "Glue, Unity, Iceberg REST and Hive",
        "Lanceway's catalogs and lance-namespace-impls, on the same servers.",
        "catalogs.py",
        ("100",),
        ("10",),
        "ratio",
        "{operation}, {title}",
        of_time=True,
        make="bench-catalogs",
    ),
    Part(
        "iceberg",
        "Iceberg REST",
        "The server with one process, a token and fsync, and Iceberg's reference server, which has neither. "
        "Requests a second.",
        "iceberg.py",
        ("1000", "--seconds", "1"),
        ("100", "--seconds", "0.1"),
        "ratio",
        "{operation}",
        of_time=False,
        server=OURS,
        make="bench-iceberg",
    ),
    Part(
        "spark",
        "Spark",
        'Lance through `format("lance")`, and Parquet, in one Spark session.',
        "spark.py",
        ("--only", "write,scan,lookup", "--rows", "200000", "--narrow", "1000000"),
        ("--only", "scan", "--rows", "1000", "--narrow", "1000"),
        "ratio",
        "{seconds} ({title})",
        of_time=True,
        make="bench-spark",
    ),
)


@dataclass(frozen=True)
class Taken:
    """A part with what it printed."""

    part: Part
    options: Sequence[str]
    tables: list[Figures]
    seconds: float

    @property
    def bars(self) -> list[Bar]:
        return list(self.part.bars(self.tables))


def take(part: Part, options: Sequence[str]) -> Taken:
    """Run a benchmark, which prints on the way, and read what it kept."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "tables.jsonl"
        began = time.monotonic()
        command = [sys.executable, str(BENCH / part.script), *options]
        done = subprocess.run(command, env={**os.environ, VARIABLE: str(file)}, check=False)
        if done.returncode:
            raise SystemExit(f"bench/{part.script} {' '.join(options)} failed; the page is as it was.")
        taken = Taken(part, options, kept(file), time.monotonic() - began)
    if not taken.bars:
        raise SystemExit(f"bench/{part.script} printed no ratio; the page is as it was.")
    return taken


# -- the page --------------------------------------------------------------------------------------


def page(taken: Sequence[Taken], busy: float) -> str:
    """Markdown with everything that was measured, and first what we lose."""
    day = datetime.now(UTC).date().isoformat()
    lines = [
        "# Numbers",
        "",
        "How fast Lanceway is compared with its peers: each pair was measured in one run, in turns, on one machine.",
        "`make bench` measures again and writes this page. Each part names the command for its longer form.",
        "",
        *(f"- {line}" for line in _machine(day, busy)),
        "",
        "| operations of | Lanceway is faster | within 10 % | the peer is faster |",
        "| --- | ---: | ---: | ---: |",
        *(_counted(one) for one in taken),
        "",
        "## Where a peer is faster",
        "",
        *_lost(taken),
    ]
    for one in taken:
        lines += ["", f"## {one.part.title}", "", one.part.about, ""]
        lines += [f"![{one.part.title}: how many times as fast as the peer](../images/{_image(one.part)})"]
        for table in one.tables:
            lines += ["", *_markdown(table)]
        command = " ".join(("python", f"bench/{one.part.script}", *one.options))
        lines += ["", f"Measured by `{command}` in {one.seconds:.0f} s; in full by `make {one.part.make}`."]
    return "\n".join(lines) + "\n"


def _lost(taken: Sequence[Taken]) -> Iterator[str]:
    slower = [(one.part, bar) for one in taken for bar in one.bars if 1 / bar.speed >= _ALIKE]
    if not slower:
        yield "Nowhere in these measurements, by more than 10 %."
        return
    yield "By more than 10 %, the largest differences of each part first:"
    yield ""
    yield "| | operation | the peer is faster |"
    yield "| --- | --- | ---: |"
    for part, bar in sorted(slower, key=lambda pair: (PARTS.index(pair[0]), pair[1].speed)):
        yield f"| {part.title} | {bar.label} | {times(1 / bar.speed)} |"


def _counted(one: Taken) -> str:
    faster = sum(bar.speed >= _ALIKE for bar in one.bars)
    slower = sum(1 / bar.speed >= _ALIKE for bar in one.bars)
    title = one.part.title
    return f"| [{title}](#{_anchor(title)}) | {faster} | {len(one.bars) - faster - slower} | {slower} |"


def _anchor(title: str) -> str:
    return re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")


def _machine(day: str, busy: float) -> Iterator[str]:
    names = [line.split(":", 1)[1].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")]
    memory = [int(line.split()[1]) / 2**20 for line in _lines("/proc/meminfo") if line.startswith("MemTotal")]
    processor = f" ({names[0]})" if names else ""
    yield f"Machine: {os.cpu_count()} processors{processor}" + (f", {memory[0]:.0f} GiB of memory" if memory else "")
    yield f"System: {platform.system()} {platform.release().split('-')[0]}, Python {platform.python_version()}"
    yield "Versions: " + ", ".join(f"{name} {importlib.metadata.version(name)}" for name in PACKAGES)
    yield f"Day: {day}"
    if busy > _QUIET:
        yield f"The machine was busy with other work (a load of {busy:.1f} at the start), so these figures are rough"


def _lines(path: str) -> list[str]:
    file = Path(path)
    return file.read_text().splitlines() if file.exists() else []


def _markdown(table: Figures) -> Iterator[str]:
    heads, rows = table.heads, table.rows
    if table.title:
        yield f"{table.title}:"
        yield ""
    numeric = [all(_is_figure(row[place]) for row in rows) for place in range(len(heads))]
    yield "| " + " | ".join(heads) + " |"
    yield "| " + " | ".join("---:" if right else "---" for right in numeric) + " |"
    for row in rows:
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"


def _image(part: Part) -> str:
    return f"numbers-{part.name}.svg"


def _is_figure(cell: str) -> bool:
    return not cell or _number(cell.split("/")[0]) is not None


def _number(cell: str) -> float | None:
    try:
        number = float(cell.strip().replace(",", ""))
    except ValueError:
        return None
    return number if number > 0 else None


def _parts(text: str) -> list[str]:
    return text.split(",")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [part.name for part in PARTS]
    parser.add_argument("--only", type=_parts, default=names, metavar="PART,…", help=", ".join(names))
    parser.add_argument("--to", type=Path, default=DOCS, metavar="FOLDER", help="Where the page goes, instead of docs.")
    parser.add_argument("--smallest", action="store_true", help="With next to nothing, to see that it works.")
    options = parser.parse_args()
    if unknown := set(options.only) - set(names):
        parser.error(f"{', '.join(sorted(unknown))}: not a part; the parts are {', '.join(names)}")
    taken, busy = [], os.getloadavg()[0]
    for part in PARTS:
        if part.name in options.only:
            print(f"\n== {part.title}", flush=True)
            taken.append(take(part, part.smallest if options.smallest else part.options))
    written = options.to / "reference" / "numbers.md"
    for folder in ("reference", "images"):
        (options.to / folder).mkdir(parents=True, exist_ok=True)
    for one in taken:
        (options.to / "images" / _image(one.part)).write_text(chart(f"{one.part.title} beside the peer", one.bars))
    written.write_text(page(taken, busy))
    print(written)


if __name__ == "__main__":
    main()
