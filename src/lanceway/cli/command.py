"""Verbs of the command line: a function becomes one, gets the session and the global options, and its
errors become exit codes.
"""

from __future__ import annotations

import functools
import inspect
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import typer

from lanceway.cli.globals import narrowed, parameters, with_signature
from lanceway.cli.help import WIDEST, HelpfulCommand, HelpfulGroup
from lanceway.cli.session import Session
from lanceway.identifiers import Identifier

if TYPE_CHECKING:
    from lanceway.errors import LanceNamespaceError

FAILED, WRONG_USE = 1, 2
# As a shell reports a program ended by SIGINT or SIGPIPE.
INTERRUPTED, PIPE_CLOSED = 130, 141
_FEW = 3

Function = TypeVar("Function", bound=Callable[..., None])


class _Group(HelpfulGroup):
    """A group that names the full path of a verb which was called too far up. Typer itself guesses mistyped names."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if not ctx.resilient_parsing and self.get_command(ctx, args[0]) is None:
            paths = _paths(self, ctx.command_path, args[0])
            if 0 < len(paths) <= _FEW:
                ctx.fail(f"No such command {args[0]!r}. Did you mean {' or '.join(map(repr, paths))}?")
        return super().resolve_command(ctx, args)


def _paths(inside: Any, above: str, name: str) -> list[str]:
    """Return the full path of every command of that name below a group."""
    children: dict[str, Any] = getattr(inside, "commands", {})
    return [
        *([f"{above} {name}"] if name in children and not children[name].hidden else []),
        *(path for child in children for path in _paths(children[child], f"{above} {child}", name)),
    ]


def group(help_: str, sections: Mapping[str, Sequence[str]] | None = None) -> typer.Typer:
    """Return a family of verbs, which prints its help when called without one. The help may have them in sections."""
    return typer.Typer(
        cls=type("_Sections", (_Group,), {"sections": sections}) if sections else _Group,
        help=help_,
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"max_content_width": WIDEST},
    )


def command(app: typer.Typer, name: str) -> Callable[[Function], Function]:
    """Make a function the verb `name` of `app`.

    Its first parameter is the session; the others are arguments and options as Typer reads them.
    Its docstring is the verb's help.
    """

    def register(function: Function) -> Function:
        app.command(name, cls=HelpfulCommand)(_verb(function))
        return function

    return register


def moved(app: typer.Typer, old: str, new: str, function: Callable[..., None]) -> None:
    """Keep the path `old` of a verb in the family `app`, hidden, with a hint to `new`, until the next version."""

    @functools.wraps(function)
    def hinting(session: Session, **options: Any) -> None:
        if not session.json:  # programs read standard error as JSON
            typer.echo(
                f"lanceway: 'lanceway {old}' is now 'lanceway {new}'; the old name ends with the next version.",
                err=True,
            )
        function(session, **options)

    app.command(old.split()[-1], cls=HelpfulCommand, hidden=True)(_verb(hinting))


def _verb(function: Callable[..., None]) -> Callable[..., None]:
    def run(context: typer.Context, **options: Any) -> None:
        session = narrowed(context.obj, options)
        with _reporting(session, options):
            function(session, **options)

    _, *own = inspect.signature(function, eval_str=True).parameters.values()
    options = [option.replace(kind=inspect.Parameter.KEYWORD_ONLY) for option in own]
    run.__name__, run.__doc__ = function.__name__, function.__doc__
    return with_signature(run, [*options, *parameters(own)])


@contextmanager
def _reporting(session: Session, options: Mapping[str, Any]) -> Iterator[None]:
    """Turn what ends a verb early into an exit code and at most one line."""
    output = session.output
    try:
        yield
        output.flush()
    except (KeyboardInterrupt, typer.Abort):
        output.interrupted()
        raise typer.Exit(INTERRUPTED) from None
    except BrokenPipeError:
        _leave_stdout()
        raise typer.Exit(PIPE_CLOSED) from None
    except (typer.Exit, typer.BadParameter):
        raise
    except _contract_error() as error:
        output.error(error, *_about(session, options, error))
        raise typer.Exit(FAILED) from error


def _about(session: Session, options: Mapping[str, Any], error: LanceNamespaceError) -> tuple[list[str], str]:
    """Return the names of what a verb was about, and where it is missing a sentence with the nearest one."""
    from lanceway.errors import InvalidInputError, NamespaceNotFoundError, TableNotFoundError

    text = options.get("table") or options.get("namespace")
    if not isinstance(text, str):
        return [], ""
    try:
        names = list(Identifier.parse(text, session.delimiter))
    except InvalidInputError:  # which is the error that is reported
        return [], ""
    if not isinstance(error, TableNotFoundError | NamespaceNotFoundError) or "Did you mean" in str(error):
        return names, ""
    from lanceway.catalogs.handles import suggestions

    suggest = suggestions.for_table if options.get("table") else suggestions.for_namespace
    return names, suggest(session.catalog, Identifier(names))


def _contract_error() -> type[LanceNamespaceError]:
    # Python evaluates an except clause only when an exception arrives there, so a run that
    # goes well does not load the error tree for this.
    from lanceway.errors import LanceNamespaceError

    return LanceNamespaceError


def _leave_stdout() -> None:
    """Discard what is still buffered for a reader that has gone, instead of failing when Python ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
