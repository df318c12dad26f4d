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
    assert set(PROJECT["project"]["optional-dependencies"]) == {"lake", "server", "glue", "spark", "testing", "all"}


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
