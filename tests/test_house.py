"""The house itself: what is promised by files that no other test reads."""

from __future__ import annotations

import ast
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.paths import REPOSITORY

SOURCE = REPOSITORY / "src" / "lanceway"
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())
MODULES = sorted(SOURCE.rglob("*.py"))


def pins() -> dict[str, str]:
    lines = (REPOSITORY / "constraints.txt").read_text().splitlines()
    return dict(line.split("==") for line in lines if line and not line.startswith("#"))


def named(requirement: str) -> str:
    return re.sub(r"[-_.]+", "-", Requirement(requirement).name).lower()


def test_every_dependency_is_pinned_to_one_version() -> None:
    groups = [*PROJECT["dependency-groups"].values(), *PROJECT["project"]["optional-dependencies"].values()]
    wanted = {named(row) for group in groups for row in group} | {
        named(row) for row in PROJECT["project"]["dependencies"]
    }
    assert wanted - {"lanceway"} <= set(pins())


def test_pins_name_versions_and_no_places() -> None:
    text = (REPOSITORY / "constraints.txt").read_text()
    assert "://" not in text
    assert all(re.fullmatch(r"[\w.+!-]+", version) for version in pins().values())


def test_the_bare_install_is_light() -> None:
    base = {named(row) for row in PROJECT["project"]["dependencies"]}
    assert base == {"lance-namespace", "obstore", "pyarrow", "pylance", "rich", "tenacity", "typer", "urllib3"}


def test_the_extras_that_are_promised_exist() -> None:
    assert set(PROJECT["project"]["optional-dependencies"]) == {
        "lake",
        "server",
        "glue",
        "hive",
        "spark",
        "sql",
        "testing",
        "all",
    }


def test_every_target_says_what_it_does() -> None:
    text = (REPOSITORY / "Makefile").read_text()
    phony = re.search(r"^\.PHONY: (.+)$", text, re.MULTILINE)
    assert phony is not None
    shown = subprocess.run(["make", "-s"], cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout
    assert re.findall(r"^  make (\S+)", shown, re.MULTILINE) == phony[1].split()


def test_every_module_says_what_it_is_for() -> None:
    written = {path: path.read_text() for path in MODULES}
    assert [path for path, text in written.items() if text and not ast.get_docstring(ast.parse(text))] == []


def test_only_the_configuration_reads_the_environment() -> None:
    readers = {
        path.relative_to(SOURCE)
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute) and node.attr in {"environ", "environb", "getenv"}
    }
    assert readers == {Path("config/files.py")}


def test_nothing_is_left_for_later() -> None:
    for path in MODULES:
        assert not re.search(r"\b(TODO|FIXME|XXX)\b", path.read_text()), path


def classes() -> dict[str, list[tuple[Path, list[str]]]]:
    """Return every class by its name: where it is defined, and the names of its bases."""
    defined: dict[str, list[tuple[Path, list[str]]]] = {}
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                bases = [ast.unparse(base).partition("[")[0].rpartition(".")[2] for base in node.bases]
                defined.setdefault(node.name, []).append((path.relative_to(SOURCE), bases))
    return defined


def test_a_class_name_means_one_thing() -> None:
    public = {name: {path for path, _ in places} for name, places in classes().items() if not name.startswith("_")}
    assert {name: places for name, places in public.items() if len(places) > 1} == {}


def test_classes_are_at_most_four_deep() -> None:
    bases = {name: {base for _, above in places for base in above} for name, places in classes().items()}

    def depth(name: str) -> int:
        return 1 + max((depth(base) for base in bases[name] if base in bases), default=0)

    assert {name: depth(name) for name in bases if depth(name) > 4} == {}


def test_a_folder_has_about_a_dozen_modules() -> None:
    folders: dict[Path, int] = {}
    for path in MODULES:
        folders[path.parent] = folders.get(path.parent, 0) + (path.name != "__init__.py")
    assert {str(folder): count for folder, count in folders.items() if count > 14} == {}


def imports(path: Path) -> set[str]:
    """Return what a module imports when it is loaded or type-checked. A package's front may name what it shows."""
    tree = ast.parse(path.read_text())
    checked = [row for node in tree.body if isinstance(node, ast.If) for row in node.body]
    names = set()
    for node in [*tree.body, *(checked if path.name != "__init__.py" else [])]:
        if isinstance(node, ast.ImportFrom):
            names |= {str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names)}
    return names


def test_no_module_is_in_a_cycle_of_imports() -> None:
    named = {
        ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts).removesuffix(".__init__"): path
        for path in MODULES
    }
    graph = {module: {name for name in imports(path) if name in named} - {module} for module, path in named.items()}
    # What imports nothing that is left, and what nothing that is left imports, is in no cycle.
    while free := {module for module in graph if not graph[module]}:
        graph = {module: names - free for module, names in graph.items() if module not in free}
    while free := set(graph) - {name for names in graph.values() for name in names}:
        graph = {module: names for module, names in graph.items() if module not in free}
    assert graph == {}


@pytest.mark.slow
def test_a_skip_fails_where_all_is_required(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    pytester.makeconftest((REPOSITORY / "tests" / "conftest.py").read_text())
    pytester.makepyfile(
        test_one="import pytest\ndef test_s(): pytest.skip('no engine')\n@pytest.mark.xfail\ndef test_x(): assert 0",
        test_two="import pytest\npytest.importorskip('no_such_module')",
    )
    monkeypatch.setenv("PYTHONPATH", str(REPOSITORY))
    monkeypatch.delenv("LANCEWAY_REQUIRE_ALL", raising=False)
    pytester.runpytest_subprocess().assert_outcomes(skipped=2, xfailed=1)
    monkeypatch.setenv("LANCEWAY_REQUIRE_ALL", "1")
    strict = pytester.runpytest_subprocess("--continue-on-collection-errors")
    strict.assert_outcomes(failed=1, errors=1, xfailed=1)
    strict.stdout.fnmatch_lines(["*allows no skip*no engine*"])
