"""Modules and styles without what only those need who read the file itself: comments, spaces and ends of lines.

Names stay as they are, and so does all that is quoted, so that what a browser says of an error can still be understood.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

# After one of these a slash begins a regular expression; anywhere else it divides.
_BEFORE_PATTERN = re.compile(r"(?:^|[(,=:\[!&|?{};+*%<>~^-]|\b(?:return|typeof|case|in|of|await|void))$")
_TOKEN = re.compile(
    r"""(?P<space>\s+)|(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<quoted>'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*")"""
    r"""|(?P<word>[\w$]+)|(?P<sign>.)""",
    re.DOTALL,
)
_PATTERN = re.compile(r"/(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/\w*")
_WORD = re.compile(r"[\w$]")
# What may be left out before the end of a block or a list.
_NEEDLESS = frozenset({";}", ",)", ",]", ",}"})
# Beside one of these no statement can end.
_GOES_ON_AFTER, _GOES_ON_BEFORE = frozenset("{([,;=:?&|>"), frozenset("})],;.=:?&|")
_STYLE_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_STYLE_SPACE = re.compile(r"\s*([{};,])\s*|(:)[ ]|\s+")


def short_style(text: str) -> str:
    """Leave comments and needless spaces out of a style sheet."""
    short = _STYLE_SPACE.sub(lambda match: match[1] or match[2] or " ", _STYLE_COMMENT.sub("", text))
    return short.replace(";}", "}").strip()


def short_module(text: str) -> str:
    """Leave comments and needless spaces out of a JavaScript module."""
    parts: list[str] = []
    gap = ""
    for token in _tokens(text):
        if token.isspace():
            gap = "\n" if "\n" in token or gap == "\n" else " "
            continue
        if parts and parts[-1] + token in _NEEDLESS:
            parts.pop()
        if gap and parts:
            parts.append(_kept(gap, parts[-1][-1], token[0]))
        parts.append(_short_template(token) if token[0] == "`" else token)
        gap = ""
    return "".join(parts) + "\n"


def _short_template(template: str) -> str:
    """Shorten the expressions in a template, and nothing else of it."""
    parts: list[str] = []
    start = place = 0
    while place < len(template):
        if template.startswith("${", place):
            end = _end_of_expression(template, place + 2)
            parts += (template[start : place + 2], short_module(template[place + 2 : end - 1]).rstrip("\n"), "}")
            start = place = end
        else:
            place += 2 if template[place] == "\\" else 1
    return "".join(parts) + template[start:]


def _kept(gap: str, before: str, after: str) -> str:
    """Return what must stay between two signs: the end of a statement, or a space between two words."""
    if gap == "\n" and before not in _GOES_ON_AFTER and after not in _GOES_ON_BEFORE:
        return "\n"
    return " " if (_WORD.match(before) and _WORD.match(after)) or (before == after and before in "+-") else ""


def _tokens(text: str) -> Iterator[str]:
    """Yield words, signs, spaces, and whole what is quoted. A comment is a space."""
    place, last = 0, ""
    while place < len(text):
        if text[place] == "`":
            token = text[place : _end_of_template(text, place)]
        elif text[place] == "/" and text[place + 1] not in "/*" and _BEFORE_PATTERN.search(last):
            token = _matched(_PATTERN, text, place)
        else:
            token = _matched(_TOKEN, text, place)
        place += len(token)
        is_comment = token.startswith(("//", "/*")) and len(token) > 1
        yield ("\n" if "\n" in token else " ") if is_comment else token
        if not is_comment and not token.isspace():
            last = token


def _matched(pattern: re.Pattern[str], text: str, place: int) -> str:
    match = pattern.match(text, place)
    if match is None:
        raise ValueError(f"Nothing that a module may have begins with {text[place : place + 20]!r}.")
    return match[0]


def _end_of_template(text: str, place: int) -> int:
    """Return where a template ends, which may hold expressions with templates of their own."""
    place += 1
    while text[place] != "`":
        if text[place] == "\\":
            place += 2
        elif text.startswith("${", place):
            place = _end_of_expression(text, place + 2)
        else:
            place += 1
    return place + 1


def _end_of_expression(text: str, place: int) -> int:
    depth = 1
    while depth:
        if text[place] == "`":
            place = _end_of_template(text, place)
            continue
        token = _matched(_TOKEN, text, place)
        depth += {"{": 1, "}": -1}.get(token, 0)
        place += len(token)
    return place
