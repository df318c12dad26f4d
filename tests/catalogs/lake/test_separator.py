"""The separator that the environment asks for: it makes a new lake, and refuses another's."""

from __future__ import annotations

from pathlib import Path

import pytest

from lanceway.catalogs import LakeCatalog
from lanceway.errors import InvalidInputError


def connect(folder: Path, **settings: str) -> LakeCatalog:
    return LakeCatalog(uri=f"sqlite:///{folder}/lake.db", root=str(folder / "warehouse"), **settings)


def test_a_new_lake_has_the_separator_of_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANCEWAY_SEPARATOR", "\u00a7")
    monkeypatch.setenv("LANCEWAY_SEPARATOR_POLICY", "unrestricted")
    lake = connect(tmp_path)
    assert lake.separator == "\u00a7"
    lake.create_namespaces("a\u00a7b")
    assert lake.list_schemas("a") == ["a\u00a7b"]
    lake.close()


@pytest.mark.parametrize("separator", ["", "/", "ab"])
def test_a_bad_separator_is_refused_before_there_is_a_database(tmp_path: Path, separator: str) -> None:
    with pytest.raises(InvalidInputError, match="is not allowed because"):
        connect(tmp_path, separator=separator)
    assert list(tmp_path.iterdir()) == []


def test_a_process_that_differs_does_not_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    connect(tmp_path, separator="~").close()
    monkeypatch.setenv("LANCEWAY_SEPARATOR", ":")
    with pytest.raises(InvalidInputError, match="has the separator '~', and this process wants ':'"):
        connect(tmp_path)
    connect(tmp_path, separator="~").close()  # an argument wins
