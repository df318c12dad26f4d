"""`lanceway catalogs crawl | sync | migrate`: long work over many tables, between two catalogs.

A catalog is named `NAME`, a root namespace of the configuration file, or `NAME:team.sales`, the namespace in it that
becomes the root; what looks like a path or a URI is a folder of tables. Settings, and so secrets, stay in the file and
the environment.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from lanceway.cli.command import command, group
from lanceway.cli.jobs import options as job_options
from lanceway.cli.jobs import progress
from lanceway.cli.jobs.options import DryRun
from lanceway.cli.session import Session, pairs
from lanceway.identifiers import Identifier

if TYPE_CHECKING:
    from lance_namespace import LanceNamespace

app = group("Between catalogs")

Source = Annotated[
    str,
    typer.Argument(metavar="SOURCE", help="Where tables come from: NAME or NAME:NAMESPACE of the file, or a folder."),
]
Target = Annotated[
    str,
    typer.Argument(metavar="TARGET", help="Where they go: NAME or NAME:NAMESPACE of the file, or a folder."),
]
Threads = Annotated[int, typer.Option("--threads", min=1, help="How many tables are worked on at a time.")]
_Flatten = Annotated[
    str | None,
    typer.Option(
        "--flatten",
        metavar="SEPARATOR",
        help="Join the names that the target has no levels for, such as _ for team_sales.orders.",
    ),
]
_Only = Annotated[
    list[str] | None,
    typer.Option("--only", metavar="GLOB", help="Only tables whose identifier matches, as team.*; may be repeated."),
]


@command(app, "crawl")
def crawl(
    session: Session,
    root: Annotated[
        str,
        typer.Argument(metavar="ROOT", help="A folder, a URI, or the name of a dir namespace of the configuration."),
    ],
    into: Annotated[
        str | None,
        typer.Option("--into", metavar="TARGET", help="Where tables are registered; as --in or --path say if not set."),
    ] = None,
    options: Annotated[
        list[str] | None,
        typer.Option("--storage", metavar="KEY=VALUE", help="An option of the storage to crawl, but no secret."),
    ] = None,
    flatten: _Flatten = None,
    dry_run: DryRun = False,
    threads: Threads = 8,
) -> None:
    """Find the Lance tables in a bucket or folder and register those that are not known."""
    target = session.catalog if into is None else _opened(session, into)
    where, configured = _storage(session, root)
    storage_options = {**configured, **pairs(options, "--storage")}
    from lanceway import jobs

    progress.run_between(
        session,
        job_options.label("Crawl", dry_run),
        lambda listen, _, stop: jobs.crawl(
            where,
            target,
            storage_options=storage_options,
            flatten=flatten,
            dry_run=dry_run,
            threads=threads,
            listen=listen,
            stop=stop,
        ),
        ("register", "change", "deregister"),
        dry_run=dry_run,
    )


@command(app, "sync")
def sync(
    session: Session,
    source: Source,
    target: Target,
    delete: Annotated[
        bool,
        typer.Option("--delete", help="Deregister what is gone from the source, if a sync from it had registered it."),
    ] = False,
    only: _Only = None,
    flatten: _Flatten = None,
    dry_run: DryRun = False,
    threads: Threads = 8,
) -> None:
    """Register one catalog's tables in another, without their data: new, changed, gone."""
    from_, to = _opened(session, source), _opened(session, target)
    from lanceway import jobs

    progress.run_between(
        session,
        job_options.label("Sync", dry_run),
        lambda listen, _, stop: jobs.sync(
            from_,
            to,
            delete=delete,
            only=only or (),
            flatten=flatten,
            dry_run=dry_run,
            threads=threads,
            listen=listen,
            stop=stop,
        ),
        ("register", "change", "deregister" if delete else "find gone"),
        dry_run=dry_run,
        count=_count(from_, only),
    )


@command(app, "migrate")
def migrate(
    session: Session,
    source: Source,
    target: Target,
    data: Annotated[
        str, typer.Option("--data", help="copy the rows and verify them, or keep them and register their location.")
    ] = "copy",
    only: _Only = None,
    flatten: _Flatten = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Copy again what has changed since it was copied, as a new version.")
    ] = False,
    state: Annotated[
        str | None,
        typer.Option("--state", metavar="FILE", help="Where verified copies are remembered, if not in the cache."),
    ] = None,
    master: Annotated[
        str | None, typer.Option("--master", help="Let a Spark session with this master copy, such as local[4].")
    ] = None,
    dry_run: DryRun = False,
    threads: Threads = 4,
) -> None:
    """Copy tables into another catalog, verified by count and checksum; run it again to resume."""
    from_, to = _opened(session, source), _opened(session, target)
    from lanceway import jobs

    spark = job_options.spark_session(master, dry_run)
    progress.run_between(
        session,
        job_options.label("Migrate", dry_run),
        lambda listen, flow, stop: jobs.migrate(
            from_,
            to,
            data=data.lower(),
            only=only or (),
            flatten=flatten,
            replace=replace,
            dry_run=dry_run,
            threads=threads,
            state=state,
            spark=spark,
            listen=listen,
            flow=flow,
            stop=stop,
        ),
        ("copy" if data.lower() == "copy" else "register", "replace", "deregister"),
        dry_run=dry_run,
        count=_count(from_, only),
    )


def _count(source: LanceNamespace, only: list[str] | None) -> Callable[[], int]:
    def count() -> int:
        from lanceway.jobs.between import register

        return sum(1 for _ in register.tables(source, only=only or ()))

    return count


def _is_folder(text: str) -> bool:
    return "/" in text or text.startswith(".")


def _opened(session: Session, text: str) -> LanceNamespace:
    """Open the catalog that a SOURCE or TARGET names."""
    from lanceway import config

    config.quiet_lance()
    from lanceway.catalogs.connect import connect

    if _is_folder(text):
        return connect("dir", settings={"path": text})
    name, _, inside = text.partition(":")
    at = {"at": list(Identifier.parse(inside, session.delimiter))} if inside else {}
    return connect(None, name=name, config=session.config, settings=at)


def _storage(session: Session, text: str) -> tuple[str, dict[str, str]]:
    """Return the folder or URI to crawl and its storage options: as given, or of a `dir` of the configuration file."""
    from lanceway import config

    if _is_folder(text):
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
