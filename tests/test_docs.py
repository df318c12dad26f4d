"""The documentation is true: its examples run, its pages are complete, and it builds without a warning."""

from __future__ import annotations

import dataclasses
import doctest
import importlib.util
import io
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from lance_namespace import LanceNamespace

from lanceway.catalogs.contract.base import Catalog
from lanceway.catalogs.registry import CATALOGS, catalog_class
from tests.paths import REPOSITORY
from tests.processes import build_documentation, lanceway
from tests.servers.lanceway import start
from tests.servers.run import Run

DOCS = REPOSITORY / "docs"
PAGES = [REPOSITORY / "README.md", REPOSITORY / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]
FENCE = re.compile(
    r"^(?P<indent> *)```(?P<language>\S*)(?: [^\n]*)?\n(?P<text>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL
)
# A fence that is run or read by these tests, or one that only shows something.
RUN = {"python", "pycon", "console", "toml", "yaml"}
# The first line of a file that a page shows: the reader saves it under this name.
FILE = re.compile(r"# (?P<name>[\w/.-]+\.(?:toml|yaml|py))\n")
# The page whose reader has started a server in the usual folder.
TUTORIAL = DOCS / "tutorial.md"
# The address of the server that a reader has started, and its token, as pages show them.
ADDRESS, TOKEN = "http://127.0.0.1:8400", "lw_…"
SHOWN = {"sh", "text", "{eval-rst}", "{toctree}", "{literalinclude}"}
TABLE = re.compile(r"(?:^\|.*\|\n)+", re.MULTILINE)
LINK = re.compile(r"\]\((?!\w+:|#)([^)#]+)")
# A path below the package or the repository; <service> stands for any name.
CODE_PATH = re.compile(r"[\w.*<>-]+/(?:[\w.*<>-]+/)*(?:[\w*<>-]+\.[a-z]+)?")
PLACEHOLDER = re.compile(r"<\w+>")


@dataclass(frozen=True)
class Block:
    language: str
    text: str
    line: int

    @property
    def file(self) -> str | None:
        """The name under which a reader saves it, if its first line is one."""
        named = FILE.match(self.text)
        return named["name"] if named else None


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text()
    for match in FENCE.finditer(text):
        yield Block(match["language"], match["text"], text.count("\n", 0, match.start()) + 2)


def commands(block: Block) -> Iterator[tuple[str, str]]:
    """Each command of a console block, and what the page says it prints (nothing, if it does not say)."""
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        command, _, output = part.partition("\n")
        yield command, output.strip("\n")


def of(*languages: str, naming: str = "") -> list[Path]:
    """The pages with a block in one of these languages that names something."""
    return [page for page in PAGES if any(b.language in languages and naming in b.text for b in blocks(page))]


EXECUTED = ("python", "pycon", "console")
SERVED = of(*EXECUTED, naming=ADDRESS)


def name(page: Path) -> str:
    return str(page.relative_to(REPOSITORY))


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder with the files that examples speak of, and no configuration of anybody's."""
    (tmp_path / "people.csv").write_text("name,born\nAda,1815\nGrace,1906\nAlan,1912\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("LANCEWAY_CONFIG", raising=False)
    return tmp_path


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_fence_says_what_it_is(page: Path) -> None:
    assert {block.language for block in blocks(page)} <= RUN | SHOWN


@pytest.mark.parametrize("page", sorted({*of(*EXECUTED)} - {*SERVED}), ids=name)
def test_the_examples_run(page: Path, desk: Path) -> None:
    follow(page)


@pytest.mark.parametrize("page", sorted({*SERVED} - {TUTORIAL}), ids=name)
def test_the_examples_run_with_a_server(page: Path, desk: Path, whole_run: Run) -> None:
    follow_with_a_server(page, desk, whole_run)


def test_the_tutorial_can_be_followed(desk: Path, whole_run: Run) -> None:
    follow_with_a_server(TUTORIAL, desk, whole_run)


def follow_with_a_server(page: Path, desk: Path, run: Run) -> None:
    server = start(run, name="reader", home=desk / ".lanceway")
    try:
        follow(page, {ADDRESS: server.address, TOKEN: server.token})
    finally:
        server.stop()


def test_what_a_reader_tries_first_is_run() -> None:
    """There, nothing but commands of a shell and one line of Spark is shown without being run."""
    first = [REPOSITORY / "README.md", DOCS / "start.md", DOCS / "tutorial.md"]
    assert {*first} <= {*SERVED}
    shown = [block.text for page in first for block in blocks(page) if block.language == "text"]
    assert [text.split("(")[0] for text in shown] == ["spark.sql"]


def follow(page: Path, replacements: Mapping[str, str] | None = None) -> None:
    """Do what a page shows in its order, as a reader would: Python in one session, commands in between."""
    session: dict[str, object] = {"__name__": "example"}
    for block in blocks(page):
        text = block.text
        for shown, real in (replacements or {}).items():
            text = text.replace(shown, real)
        if file := block.file:
            Path(file).write_text(text)
        elif block.language == "python":
            # The empty lines make a traceback show the page's own line.
            exec(compile("\n" * (block.line - 1) + text, str(page), "exec"), session)
        elif block.language == "pycon":
            compare(text, session, f"{name(page)}:{block.line}")
        elif block.language == "console":
            for command, shown in commands(dataclasses.replace(block, text=text)):
                printed = run(command)
                assert not shown or shown == as_shown(printed), command


def compare(text: str, session: dict[str, object], where: str) -> None:
    """Do what is typed at a Python prompt, and compare what it prints with what the page shows."""
    examples = doctest.DocTestParser().get_examples(text, where)
    assert examples, f"{where} has no prompt"
    case = doctest.DocTest(examples, session, where, None, None, text)
    report = io.StringIO()
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    runner.run(case, out=report.write, clear_globs=False)
    session.update(case.globs)
    assert runner.failures == 0, report.getvalue()


def as_shown(printed: str) -> str:
    """As an editor keeps it: without the spaces at the ends of lines."""
    return "\n".join(line.rstrip() for line in printed.strip("\n").splitlines())


def run(command: str) -> str:
    # As a shell does, to which a quoted ~ alone is a letter.
    program, *arguments = (os.path.expanduser(word) if "/" in word else word for word in shlex.split(command))
    assert Path(program).name == "lanceway", f"only lanceway is run in a console block: {command}"
    done = lanceway(*arguments, timeout=240)  # on a busy machine Spark alone may take two minutes to start
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


def test_what_is_shown_of_schedulers_is_at_least_well_formed() -> None:
    """Their packages are not here: a file's name as the first line tells a program."""
    shown = list(blocks(DOCS / "guide" / "pipeline.md"))
    programs = [block for block in shown if re.match(r"# \S+\.py, for ", block.text)]
    for block in programs:
        compile(block.text, "shown", "exec")
    crontab = next(block.text.splitlines() for block in shown if block.text.startswith("# crontab"))
    assert re.match(r"([\d*/,-]+ ){5}cd \S+ && lanceway ", crontab[1])
    assert len(programs) == 2


@pytest.mark.parametrize("page", sorted({*of("toml"), *of("yaml")}), ids=name)
def test_examples_of_files_are_well_formed(page: Path) -> None:
    readers = {"toml": tomllib.loads, "yaml": yaml.safe_load}
    for block in blocks(page):
        if reader := readers.get(block.language):
            assert reader(block.text)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target in LINK.findall(page.read_text()):
        assert (page.parent / target).exists(), f"{name(page)} links to {target}"


def anchors(page: Path) -> set[str]:
    """The ends of addresses that lead to the headings of a page, as GitHub and these pages make them."""
    titles = re.findall(r"^#+ (.+)$", FENCE.sub("", page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_to_headings_lead_to_one(page: Path) -> None:
    for target, anchor in re.findall(r"\]\((?!\w+:)([^)#\s]*)#([^)\s]+)\)", page.read_text()):
        there = page.parent / target if target else page
        assert anchor in anchors(there), f"{name(page)} links to {target}#{anchor}"


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_rows_of_tables_have_as_many_cells_as_their_heads(page: Path) -> None:
    for table in TABLE.findall(FENCE.sub("", page.read_text())):
        assert len({len(re.findall(r"(?<!\\)\|", row)) for row in table.splitlines()}) == 1, table


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_quotes_are_straight(page: Path) -> None:
    assert re.findall("[\u2018\u2019\u201c\u201d]", page.read_text()) == []


def test_the_front_page_links_to_every_page_by_its_title() -> None:
    """Except the decisions, which have a list of their own."""
    front = DOCS / "index.md"
    listed = dict(reversed(link) for link in re.findall(r"\[([^\]\n]+)\]\(([\w/-]+\.md)\)", front.read_text()))
    titles = {
        str(page.relative_to(DOCS)): page.read_text().partition("\n")[0].removeprefix("# ")
        for page in DOCS.rglob("*.md")
        if page != front and (page.parent.name != "decisions" or page.name == "index.md")
    }
    assert listed == titles


def test_messages_that_are_explained_are_printed_by_the_code() -> None:
    """Their titles are what a reader searches for: words of a message, as they stand in it."""
    code = "".join(file.read_text() for file in (REPOSITORY / "src" / "lanceway").rglob("*.py"))
    *explained, last = re.findall(r"^## (.+)$", (DOCS / "troubleshooting.md").read_text(), re.MULTILINE)
    assert last == "Still stuck?"
    assert [words for words in explained if words not in code] == []
    assert len(explained) > 10


def test_figures_of_the_readme_are_those_of_the_page_of_operations() -> None:
    def measured(page: Path) -> dict[str, str]:
        return {
            figure.strip(): command
            for figure, command in re.findall(
                r"^\| [^|]+ \| ([^|]+) \| (`make bench-\w+`) \|$", page.read_text(), re.MULTILINE
            )
        }

    shown = measured(REPOSITORY / "README.md")
    assert shown
    assert shown.items() <= measured(DOCS / "guide" / "operations.md").items()


def test_every_line_of_the_threat_model_is_shown_by_tests_that_exist() -> None:
    model = (DOCS / "guide" / "security.md").read_text().split("## Who attacks what")[1].split("\n## ")[0]
    lines = [line for line in model.splitlines() if line.startswith("| ")][1:]
    assert len(lines) > 15
    for line in lines:
        shown = re.findall(r"`([\w/]+\.py)` `(test_\w+)`", line.rsplit(" | ", 1)[1])
        assert shown, line
        for file, test in shown:
            assert f"def {test}(" in (REPOSITORY / "tests" / file).read_text(), f"{file} has no {test}"


def named_paths(page: Path) -> Iterator[str]:
    """The paths of folders and files that a page names, in code between its words and in its drawings."""
    drawings = [block.text for block in blocks(page) if block.language == "text"]
    spans = re.findall(r"`([^`\n]+)`", FENCE.sub("", page.read_text()))
    words = [word.strip(",.;:|") for text in (*spans, *drawings) for word in text.split()]
    return filter(CODE_PATH.fullmatch, words)


@pytest.mark.parametrize(
    ("page", "fewest"), [(DOCS / "explain" / "architecture.md", 50), (REPOSITORY / "CONTRIBUTING.md", 40)]
)
def test_paths_that_lead_into_the_code_exist(page: Path, fewest: int) -> None:
    paths = list(named_paths(page))
    missing = [
        path
        for path in paths
        if not any([*root.glob(PLACEHOLDER.sub("*", path))] for root in (REPOSITORY / "src" / "lanceway", REPOSITORY))
    ]
    assert missing == []
    assert len(paths) > fewest


def generated(name: str) -> tuple[str, str]:
    """A page of the reference as it is, and as its program in docs/ makes it."""
    spec = importlib.util.spec_from_file_location(f"docs_{name}", DOCS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return (DOCS / "reference" / f"{name}.md").read_text(), module.page()


@pytest.mark.parametrize("name", ["settings", "requests"])
def test_pages_that_are_made_from_the_code_are_as_the_code_is(name: str) -> None:
    page, made = generated(name)
    assert page == made, f"Renew it: python docs/{name}.py > docs/reference/{name}.md"


def test_every_operation_is_on_the_page_of_requests_and_every_key_has_a_meaning() -> None:
    page, _ = generated("requests")
    described = set(re.findall(r"^## (\w+)$", page, re.MULTILINE))
    assert described == {name for name in dir(LanceNamespace) if not name.startswith("_")} - {"namespace_id"}
    assert re.findall(r"^\| `\w+` \|  \|.*", page, re.MULTILINE) == []


def test_every_setting_is_explained_in_the_guide() -> None:
    guide = "".join(page.read_text() for page in (DOCS / "guide").glob("*.md"))
    for type_ in CATALOGS:
        found = catalog_class(type_)
        assert issubclass(found, Catalog)
        for row in found.SETTINGS:
            assert (row.prefix or f"`{row.name}`") in guide, row.name


def test_every_command_has_its_place_in_the_reference() -> None:
    import typer

    from lanceway.cli.app import app

    def walk(command: object, path: tuple[str, ...]) -> Iterator[str]:
        children = getattr(command, "commands", None)
        if children is None:
            yield " ".join(path)
        else:
            for child, inner in children.items():
                if not inner.hidden:
                    yield from walk(inner, (*path, child))

    reference = (DOCS / "reference" / "cli.md").read_text()
    known = list(walk(typer.main.get_command(app), ("lanceway",)))
    assert len(known) > 30
    assert [command for command in known if command not in reference] == []


def test_every_error_is_in_the_reference_with_its_code() -> None:
    from lanceway import errors

    page = (DOCS / "reference" / "errors.md").read_text()
    shown = {(int(code), class_) for code, class_ in re.findall(r"^\| (\d+) \| `(\w+)` \|", page, re.MULTILINE)}
    classes = [getattr(errors, name) for name in errors.__all__ if name.endswith("Error")]
    raised = {
        (class_("").code.value, class_.__name__) for class_ in classes if class_ is not errors.LanceNamespaceError
    }
    assert shown == raised


def test_the_documentation_builds_without_a_warning(tmp_path: Path) -> None:
    done = build_documentation(tmp_path)
    assert done.returncode == 0, done.stderr
    assert 'src="_static/copybutton.js' in (tmp_path / "html" / "start.html").read_text()


def test_the_tour_runs_twice_and_what_it_proposes_works(desk: Path) -> None:
    tour = [sys.executable, str(REPOSITORY / "samples" / "tour.py")]
    for _ in range(2):
        done = subprocess.run(tour, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    proposed = re.findall(r"^\$ (.+)$", done.stdout, re.MULTILINE)
    lines = re.findall(r"^>>> (.+)$", done.stdout, re.MULTILINE)
    assert (len(proposed), len(lines)) == (4, 4)
    for command in proposed:
        run(command)
    session: dict[str, object] = {}
    exec("\n".join(lines[:2]), session)
    assert eval(lines[2], session) == ["books", "loans"]
    assert eval(lines[3], session) == 4
