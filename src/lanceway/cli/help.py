"""How help looks: as wide as the terminal, whole summaries, verbs in sections, arguments in plain words, examples."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

# Wider lines are hard to read, however wide the terminal is.
WIDEST = 140
EXAMPLES, OTHERS, COMMANDS = "Examples", "Others", "Commands"
_FIRST_SENTENCE = re.compile(r".*?[.!?](?=\s|$)", re.DOTALL)
_TYPE = re.compile(r" ?<[^>]*>")
_RANGE = re.compile(r"\s*\[[^\]]*x[<>][^\]]*\]")
_TWICE = re.compile(r"\[(\[.*\](?:\.\.\.)?)\](?:\.\.\.)?")
_BRACES = re.compile(r"\{([^{}]*)\}(\.\.\.)?")


def summary(text: str | None) -> str:
    """Return the first sentence of a help text, in one line and whole."""
    paragraph = " ".join((text or "").strip().partition("\n\n")[0].split())
    sentence = _FIRST_SENTENCE.match(paragraph)
    return sentence[0] if sentence else paragraph


def without_examples(text: str) -> tuple[str, list[str]]:
    """Take the last paragraph, if it begins with `Example:`, out of a help text; return both."""
    prose, _, last = text.strip().rpartition("\n\n")
    if not last.startswith("Example: "):
        return text, []
    return prose, [line.strip() for line in last.removeprefix("Example: ").splitlines()]


class HelpfulCommand(TyperCommand):
    """A verb whose help has the arguments as they are typed, and its examples at the end."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return [_plain(piece) for piece in super().collect_usage_pieces(ctx)]

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        _write_text(formatter, without_examples(self.help or "")[0])

    def format_options(self, ctx: Any, formatter: Any) -> None:
        _write_parameters(self, ctx, formatter)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        _write_examples(formatter, without_examples(self.help or "")[1])


class HelpfulGroup(TyperGroup):
    """A family of verbs, which its help lists in sections with whole summaries. A subclass says which sections."""

    sections: Mapping[str, Sequence[str]] = {}

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        _write_text(formatter, without_examples(self.help or "")[0])

    def format_options(self, ctx: Any, formatter: Any) -> None:
        self.format_commands(ctx, formatter)
        _write_parameters(self, ctx, formatter)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        shown = {name: child for name, child in self.commands.items() if not child.hidden}
        widest = max(map(len, shown), default=0)
        for title, names in self._sections(shown):
            with formatter.section(_heading(title)):
                # The summaries of all sections are below one another.
                formatter.write_dl([(_name(name.ljust(widest)), summary(shown[name].help)) for name in names])

    def _sections(self, shown: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
        rest = list(shown)
        for title, names in self.sections.items():
            chosen = [name for name in names if name in rest]
            rest = [name for name in rest if name not in chosen]
            if chosen:
                yield title, chosen
        if rest:
            yield OTHERS if self.sections else COMMANDS, rest

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        _write_examples(formatter, without_examples(self.help or "")[1])


def _plain(piece: str) -> str:
    """Write an argument as it is typed: `TABLE` for `{TABLE}`, `[NAMESPACE]` for `[[NAMESPACE]]`."""
    piece = _BRACES.sub(r"\1", piece)
    wrapped = _TWICE.fullmatch(piece)
    return wrapped[1] if wrapped else piece


def _heading(title: str) -> str:
    return _styled(title, bold=True)


def _name(text: str) -> str:
    return _styled(text, fg="cyan")


def _styled(text: str, **style: Any) -> str:
    return typer.style(text, **style) if _shows_colours() else text


@cache
def _shows_colours() -> bool:
    """Return whether help goes to a terminal that is to show colours. The configuration would take long to load."""
    if not sys.stdout.isatty():
        return False
    from rich.console import Console

    console = Console()
    return console.color_system is not None and not console.no_color


def _write_text(formatter: Any, text: str) -> None:
    if text.strip():
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text("\n\n".join(" ".join(part.split()) for part in text.strip().split("\n\n")))


def _write_examples(formatter: Any, examples: Sequence[str]) -> None:
    if examples:
        with formatter.section(_heading(EXAMPLES)):
            for example in examples:  # never wrapped: they are copied
                formatter.write(f"{'':>{formatter.current_indent}}{example}\n")


def _write_parameters(command: Any, ctx: Any, formatter: Any) -> None:
    rows: dict[str, list[tuple[str, str]]] = {"argument": [], "option": []}
    for parameter in command.get_params(ctx):
        record = parameter.get_help_record(ctx)
        if record is not None:
            names, text = record
            rows[parameter.param_type_name].append(
                (_name(_with_placeholder(names, parameter)), _RANGE.sub("", text).replace("  [required]", ""))
            )
    for kind, title in (("argument", "Arguments"), ("option", "Options")):
        if rows[kind]:
            with formatter.section(_heading(title)):
                formatter.write_dl(rows[kind])


def _with_placeholder(names: str, parameter: Any) -> str:
    """Write what stands for a value as N for a number, else as the last word of the option's name: `--tag TAG`."""
    type_ = _TYPE.search(names)
    if type_ is None:
        return names
    longest: str = max(parameter.opts, key=len)
    word = "N" if type_[0].startswith((" <int", " <float")) else longest.rpartition("-")[2].upper()
    return names.replace(type_[0], "" if parameter.param_type_name == "argument" else f" {word}")
