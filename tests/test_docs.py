"""The documentation is true: its examples run, its pages are complete, and it builds without a warning."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from lanceway.catalogs.contract.base import Catalog
from lanceway.catalogs.registry import CATALOGS, catalog_class
from tests.paths import REPOSITORY
from tests.processes import lanceway

DOCS = REPOSITORY / "docs"
PAGES = [REPOSITORY / "README.md", REPOSITORY / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]
FENCE = re.compile(r"^(?P<indent> *)```(?P<language>\S*)\n(?P<text>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL)
# A fence that is run or read by these tests, or one that only shows something.
RUN = {"python", "console", "toml"}
SHOWN = {"sh", "text", "{eval-rst}", "{toctree}"}
LINK = re.compile(r"\]\((?!\w+:|#)([^)#]+)")
# A path below the package or the repository; <service> stands for any name.
CODE_PATH = re.compile(r"[\w.*<>-]+/(?:[\w.*<>-]+/)*(?:[\w*<>-]+\.[a-z]+)?")
PLACEHOLDER = re.compile(r"<\w+>")


@dataclass(frozen=True)
class Block:
    language: str
    text: str
    line: int


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text()
    for match in FENCE.finditer(text):
        yield Block(match["language"], match["text"], text.count("\n", 0, match.start()) + 2)


def commands(block: Block) -> Iterator[tuple[str, str]]:
    """Each command of a console block, and what the page says it prints (nothing, if it does not say)."""
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        command, _, output = part.partition("\n")
        yield command, output.strip("\n")


def of(language: str) -> list[Path]:
    return [page for page in PAGES if any(block.language == language for block in blocks(page))]


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


@pytest.mark.parametrize("page", sorted({*of("python"), *of("console")}), ids=name)
def test_the_examples_run(page: Path, desk: Path) -> None:
    """In order, as a reader would: Python in one session, commands in between."""
    session: dict[str, object] = {"__name__": "example"}
    for block in blocks(page):
        if block.language == "python":
            # The empty lines make a traceback show the page's own line.
            exec(compile("\n" * (block.line - 1) + block.text, str(page), "exec"), session)
        elif block.language == "console":
            for command, shown in commands(block):
                printed = run(command)
                assert not shown or shown == as_shown(printed), command


def as_shown(printed: str) -> str:
    """As an editor keeps it: without the spaces at the ends of lines."""
    return "\n".join(line.rstrip() for line in printed.strip("\n").splitlines())


def run(command: str) -> str:
    program, *arguments = shlex.split(command)
    assert Path(program).name == "lanceway", f"only lanceway is run in a console block: {command}"
    done = lanceway(*arguments)
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


@pytest.mark.parametrize("page", of("toml"), ids=name)
def test_configuration_examples_are_toml(page: Path) -> None:
    for block in blocks(page):
        if block.language == "toml":
            tomllib.loads(block.text)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target in LINK.findall(page.read_text()):
        assert (page.parent / target).exists(), f"{name(page)} links to {target}"


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


def test_the_page_of_settings_is_made_from_the_code() -> None:
    spec = importlib.util.spec_from_file_location("docs_settings", DOCS / "settings.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert (DOCS / "reference" / "settings.md").read_text() == module.page(), (
        "Renew it: python docs/settings.py > docs/reference/settings.md"
    )


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
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html"]
    done = subprocess.run(
        [*command, "-d", str(tmp_path / "trees"), str(DOCS), str(tmp_path / "html")],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONWARNINGS": "default"},
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "html" / "start.html").exists()


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
