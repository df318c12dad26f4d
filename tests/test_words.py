"""The words of the style sheet (docs/explain/style.md): what help, messages, pages and the console do not say."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from lanceway.cli.reference import reference
from tests.paths import REPOSITORY

SOURCE = REPOSITORY / "src" / "lanceway"

# What is not said, as a pattern, and what is said instead. docs/explain/style.md has the same pairs, for people.
PAIRS = {
    r"\banew\b": "again, from the beginning, --restart",
    r"\bmend(s|ed|ing)?\b": "fix",
    r"\b(no|some|every)body\b": "no one, or name them: users, clients, the server",
    r"\bwho(m|so)?ever\b": "users, clients, the caller",
    r"\b(told|telling)\b": "reported, shown, sent; known",
    r"\btells? (of|whether|where|what|when|how|no|which|who)\b": "report, show, say",
    r"\b(lies|lay|lain)\b": "is, is stored",
    r"\blie\b(?! detector)": "are, are stored",
    r"(?<!here )\b(is|are|was|were) no(?! longer| more| less| different)\b": "is not a",
    r"\b(is|are|was|were) (?-i:none)\b": "there is no; is not",
    r"\b(came|comes?|coming) to (?!light|you)": "result, reach, end",
    r"\b(go|goes|went|going|gone) on\b": "resume, continue",
    r"\b(of|to|by|for|from|with|in|at) whom\b": "whose, who",
    r"\b(of|by) which\b": "whose, that, where",
    r"\b(is|are|was|were) (to be\b|to (?=(have|hold|stay|go|come)\b))": "must, will, can",
    r"\bto be had\b": "available",
    r"\bbesides\b": "also, except",
    r"\bwithout a word\b": "silently",
    r"\bput right\b": "fixed",
    r"\b(he|his|him|she|hers?)\b": "the user, their",
    r"\b(no|had|have|with) luck\b": "fail",
    r"\b(upon|thereby|thereof|wherein|whereby|aught|nought|lest|shall)\b": "plain words",
    r"\bheld whole\b": "buffered",
    r"\b(holds?|held) up\b": "delay, stop",
    r"\bwill do\b": "works",
    r"\bbut for\b": "except",
    r"\bin the plural\b": "alias of",
    r"\bwho asks\b": "the caller, the user",
    r"\bwho may ask\b": "authentication",
    r"\b(find|finds|found|know|knows) its (place|end)\b": "is, ends",
    r"\b(its|their) turn\b": "next",
    r"\bnext word\b": "answer",
    r"\bgoes? round\b": "bypass",
    r"\bway in\b": "call",
    r"\bmade small\b": "created",
    r"\blook for what should not be\b": "check for inconsistencies",
    r"\bclaim a name\b": "reserve a name",
    r"\bgive a name to a table\b": "register a table",
    r"\bhold a \w+( \w+)* to the contract\b": "run the conformance suite",
    r"\ba null does not hold\b": "NULL counts as a failure",
}
PAGES = [
    *(REPOSITORY / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *sorted((REPOSITORY / "docs").rglob("*.md")),
]
_COMMENT = re.compile(r"/\*.*?\*/|(?<=\s)//[^\n]*", re.DOTALL)
_FENCE = re.compile(r"^(\s*)(`{3,}|~{3,}).*?^\s*\2`*\s*?$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`[^`\n]+`")


@dataclass(frozen=True, order=True)
class Hit:
    """Words that the style sheet replaces, and where they stand."""

    where: str
    line: int
    words: str
    instead: str

    def __str__(self) -> str:
        return f"{self.where}:{self.line}: {self.words!r}; say: {self.instead}"


def hits(text: str, where: str, line: int = 1) -> Iterator[Hit]:
    """Yield the words of a text that the style sheet replaces."""
    for pattern, instead in PAIRS.items():
        for match in re.finditer(pattern, text, re.IGNORECASE):
            yield Hit(where, line + text.count("\n", 0, match.start()), match[0], instead)


def without_comments(script: str) -> str:
    """Return a script of the console without its comments, line by line as it was."""
    return _COMMENT.sub(lambda comment: "\n" * comment[0].count("\n"), script)


def prose(markdown: str) -> str:
    """Return a page without its code, line by line as it was."""
    text = _FENCE.sub(lambda block: "\n" * block[0].count("\n"), markdown)
    return _CODE.sub("x", text)


def sentences(module: Path) -> Iterator[tuple[int, str]]:
    """Yield the string literals of a module that may be printed, with their lines: no docstrings, no single words."""
    tree = ast.parse(module.read_text())
    silent = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            silent |= {id(part) for part in node.values}
            yield (
                node.lineno,
                "".join(str(part.value) if isinstance(part, ast.Constant) else "X" for part in node.values),
            )
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and " " in node.value
            and id(node) not in silent
        ):
            yield node.lineno, node.value


def test_the_style_sheet_shows_the_words() -> None:
    """The patterns and the page are one list: each `not` of the page is found by the lint."""
    page = (REPOSITORY / "docs" / "explain" / "style.md").read_text()
    table = page.split("## Instead of")[1].split("## Where")[0]
    words = [word for row in table.splitlines()[4:] if row.startswith("|") for word in _CODE.findall(row.split("|")[1])]
    assert len(words) > len(PAIRS)
    assert [word for word in words if not list(hits(word.strip("`"), "style"))] == []


def test_help_is_in_plain_words() -> None:
    assert list(map(str, hits(reference(), "lanceway --help"))) == []


def test_messages_are_in_plain_words() -> None:
    spoken = [
        str(hit)
        for module in sorted(SOURCE.rglob("*.py"))
        for line, text in sentences(module)
        for hit in hits(text, str(module.relative_to(REPOSITORY)), line)
    ]
    assert spoken == []


def test_the_console_is_in_plain_words() -> None:
    files = [path for path in sorted((SOURCE / "console").rglob("*")) if path.suffix in {".js", ".html"}]
    assert files
    shown = [hit for path in files for hit in hits(without_comments(path.read_text()), str(path.relative_to(SOURCE)))]
    assert list(map(str, shown)) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_pages_are_in_plain_words(page: Path) -> None:
    name = str(page.relative_to(REPOSITORY))
    written = sorted(map(str, hits(prose(page.read_text()), name)))
    assert written == []
