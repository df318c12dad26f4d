"""Verbs of the command line: a function becomes one, gets the session and `--json`, and its errors become exit
codes.
"""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer
from typer.core import TyperGroup

from lanceway.cli.output.renderers import Output
from lanceway.cli.session import Session

if TYPE_CHECKING:
    from lanceway.errors import LanceNamespaceError

FAILED, WRONG_USE = 1, 2
# As a shell reports a program ended by SIGINT or SIGPIPE.
INTERRUPTED, PIPE_CLOSED = 130, 141
_FEW = 3

Function = TypeVar("Function", bound=Callable[..., None])
_Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs instead of tables for people.")]


class _Group(TyperGroup):
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
        *([f"{above} {name}"] if name in children else []),
        *(path for child in children for path in _paths(children[child], f"{above} {child}", name)),
    ]


def group(help_: str) -> typer.Typer:
    """Return a family of verbs, which prints its help when called without one."""
    return typer.Typer(
        cls=_Group, help=help_, no_args_is_help=True, rich_markup_mode=None, pretty_exceptions_enable=False
    )


def command(app: typer.Typer, name: str) -> Callable[[Function], Function]:
    """Make a function the verb `name` of `app`.

    Its first parameter is the session; the others are arguments and options as Typer reads them.
    Its docstring is the verb's help.
    """

    def register(function: Function) -> Function:
        app.command(name)(_verb(function))
        return function

    return register


def _verb(function: Callable[..., None]) -> Callable[..., None]:
    def run(context: typer.Context, as_json: bool, **options: Any) -> None:
        session: Session = context.obj.for_programs() if as_json else context.obj
        with _reporting(session.output):
            function(session, **options)

    _, *options = inspect.signature(function, eval_str=True).parameters.values()
    kind = inspect.Parameter.KEYWORD_ONLY
    context = inspect.Parameter("context", kind, annotation=typer.Context)
    as_json = inspect.Parameter("as_json", kind, annotation=_Json, default=False)
    parameters = [context, *(option.replace(kind=kind) for option in options), as_json]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    run.__name__, run.__doc__ = function.__name__, function.__doc__
    return run


@contextmanager
def _reporting(output: Output) -> Iterator[None]:
    """Turn what ends a verb early into an exit code and at most one line."""
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
        output.error(error)
        raise typer.Exit(FAILED) from error


def _contract_error() -> type[LanceNamespaceError]:
    # Python evaluates an except clause only when an exception arrives there, so a run that
    # goes well does not load the error tree for this.
    from lanceway.errors import LanceNamespaceError

    return LanceNamespaceError


def _leave_stdout() -> None:
    """Discard what is still buffered for a reader that has gone, instead of failing when Python ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
