"""What is left out of modules and styles: only what means nothing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import lanceway.console as lanceway_console
from lanceway.console.files import console_files
from lanceway.console.shortening import short_module, short_style

STATIC = Path(lanceway_console.__file__).parent / "static"
COMMENT = re.compile(r"(?<![:'`\"\\])//[^\n]*|/\*[\s\S]*?\*/")


def stripped(text: str) -> str:
    return re.sub(r";(?=})|,(?=[)\]}])", "", re.sub(r"\s", "", COMMENT.sub("", text)))


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        ("// all of it\nconst a = 1; // why\nconst b = 2;\n", "const a=1;const b=2;"),
        ("const text = 'a // b,  c';", "const text='a // b,  c';"),
        ("const it = `a  ${f({ b: `c  d` }, '}')}  // e`;", "const it=`a  ${f({b:`c  d`},'}')}  // e`;"),
        ("x.replace(/ [/'] +\"/g, y) / 2 / z;", "x.replace(/ [/'] +\"/g,y)/2/z;"),
        ("return /a b/.test(c);", "return/a b/.test(c);"),
        ("const f = () => {}\nf()", "const f=()=>{}\nf()"),
        ("a = b\n++c; d + ++e; f - -g", "a=b\n++c;d+ ++e;f- -g"),
        ("f(a,\n  b)\n  .c\n  ?? d\n? e\n: f", "f(a,b).c??d?e:f"),
        ("const [a, , b] = [\n  c,\n];\nfor (;;) {\n  f(a,);\n}", "const[a,,b]=[c];for(;;){f(a)}"),
        (
            "async function* g() {\n  yield 1\n}\nclass A extends B {}",
            "async function*g(){yield 1}\nclass A extends B{}",
        ),
    ],
)
def test_a_module_means_the_same(written: str, sent: str) -> None:
    assert short_module(written) == f"{sent}\n"


def test_a_style_means_the_same() -> None:
    written = "/* all */\n:root { --a: 1px; }\nb  c > d :not(e) , f { margin: calc(1px + 2px) 0; }\n"
    assert short_style(written) == ":root{--a:1px}b c > d :not(e),f{margin:calc(1px + 2px) 0}"


def test_nothing_but_comments_and_spaces_is_left_out() -> None:
    for name, content in console_files().items():
        assert stripped(content.decode()) == stripped((STATIC / name).read_text()), name


def test_what_people_read_keeps_its_spaces() -> None:
    phrase = re.compile(r"'([A-Z][\w ,:.?]*)'")
    for name, content in console_files().items():
        assert phrase.findall(content.decode()) == phrase.findall(COMMENT.sub("", (STATIC / name).read_text())), name
