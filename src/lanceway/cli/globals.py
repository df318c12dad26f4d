"""The options that every command takes, before or after its verb. One that a verb has itself means the verb's."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

import typer
from typer.models import OptionInfo

from lanceway.cli.session import Session, completed

# Set apart from the parameters of verbs, which have names such as `path` of their own.
_PREFIX = "global_"


def _options(
    *,
    global_name: Annotated[
        str | None,
        typer.Option(
            "--in",
            metavar="NAME",
            help="A root namespace of lanceway.toml, or a saved connection.",
            autocompletion=completed("catalogs"),
        ),
    ] = None,
    global_url: Annotated[
        str | None, typer.Option("--url", metavar="URL", help="A server, such as https://lance.example.com.")
    ] = None,
    global_path: Annotated[
        str | None,
        typer.Option(
            "--path",
            metavar="FOLDER",
            help="A folder or a bucket. Short for --type dir --set layout=auto --set path=FOLDER.",
        ),
    ] = None,
    global_type: Annotated[
        str | None,
        typer.Option(
            "--type",
            metavar="TYPE",
            help="The catalog's type, such as glue, to need no file.",
            autocompletion=completed("types"),
        ),
    ] = None,
    global_settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A setting of the catalog; may be repeated."),
    ] = None,
    global_config: Annotated[
        Path | None,
        typer.Option(
            "--config",
            metavar="FILE",
            dir_okay=False,
            exists=True,
            help="The configuration file, instead of lanceway.toml.",
        ),
    ] = None,
    global_delimiter: Annotated[
        str | None,
        typer.Option("--delimiter", metavar="TEXT", help="What separates the names of an identifier, not a dot."),
    ] = None,
    global_as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON for programs instead of tables for people.")
    ] = False,
) -> None:
    """Carry the options; only its signature is used."""


_ALL = tuple(inspect.signature(_options, eval_str=True).parameters.values())
# Which every verb shows in its help. The others are in the help of the program, and hold everywhere all the same.
_SHOWN = frozenset({"--json"})


def parameters(own: Iterable[inspect.Parameter] = (), *, shown: bool = False) -> Iterator[inspect.Parameter]:
    """Yield the parameters of the global options, but for those that a verb's `own` take the place of."""
    taken = {name for parameter in own for name in _names(parameter)}
    for parameter, names, hidden in _GLOBAL:
        if taken.isdisjoint(names):
            yield parameter if shown or not _SHOWN.isdisjoint(names) else hidden


def narrowed(session: Session, values: dict[str, Any]) -> Session:
    """Take the global options out of the values of a command, and return the session that they choose."""
    chosen = {name.removeprefix(_PREFIX): values.pop(name) for name in list(values) if name.startswith(_PREFIX)}
    return session.narrowed(**chosen)


def _hold(context: typer.Context, **values: Any) -> None:
    context.obj = narrowed(context.obj, values)


def _names(parameter: inspect.Parameter) -> tuple[str, ...]:
    """Return the spellings of an option, `--name` and `-n`; none of an argument."""
    info = _info(parameter)
    declared = (info.default, *(info.param_decls or ())) if info is not None else ()
    return tuple(name for text in declared if isinstance(text, str) for name in text.split("/"))


def _info(parameter: inspect.Parameter) -> OptionInfo | None:
    metadata = get_args(parameter.annotation)[1:] if get_origin(parameter.annotation) is Annotated else ()
    return next((entry for entry in metadata if isinstance(entry, OptionInfo)), None)


def _hidden(parameter: inspect.Parameter) -> inspect.Parameter:
    info = copy.copy(_info(parameter))
    assert info is not None
    info.hidden = True
    return parameter.replace(annotation=Annotated[get_args(parameter.annotation)[0], info])


def with_signature(function: Callable[..., None], options: Iterable[inspect.Parameter]) -> Callable[..., None]:
    """Let Typer read a function that takes any keywords as one with the context and these options."""
    context = inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
    read = [context, *options]
    function.__signature__ = inspect.Signature(read)  # type: ignore[attr-defined]
    function.__annotations__ = {parameter.name: parameter.annotation for parameter in read}
    return function


# Each option with its spellings, and as it is where help does not show it: the same for all verbs.
_GLOBAL = tuple((parameter, _names(parameter), _hidden(parameter)) for parameter in _ALL)
# What a family of verbs does with options between its name and the verb's.
hold = with_signature(_hold, (hidden for _, _, hidden in _GLOBAL))
