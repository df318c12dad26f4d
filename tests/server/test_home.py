from __future__ import annotations

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lanceway import config
from lanceway.errors import InvalidInputError
from lanceway.lake.tree import catalogs, metalakes
from lanceway.server.home import Home, prepare


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_fresh_home_has_all_that_a_server_needs(tmp_path: Path) -> None:
    home = Home.open(tmp_path / "a" / "home")
    assert (mode(home.path), mode(home.token_file)) == (0o700, 0o600)
    assert home.first_token == home.token_file.read_text().strip()
    assert home.store.read(lambda connection: metalakes.names(connection)) == ["lanceway"]
    lake = home.store.read(lambda connection: catalogs.load(connection, "lanceway", "lake"))
    assert (lake.nested, lake.managed, lake.owner) == (True, True, "admin")
    assert lake.location == str(home.path / "warehouse" / "lake")
    assert home.first_token not in repr(home)
    home.close()


def test_the_database_is_the_owners_alone_whatever_the_folder_is(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    before = os.umask(0o022)
    try:
        Home.open(tmp_path).close()
        files = [file for file in tmp_path.iterdir() if file.is_file()]
        assert {file.name: mode(file) for file in files} == {"lake.db": 0o600, "admin-token": 0o600}
        (tmp_path / "lake.db").chmod(0o644)  # as it was made by earlier versions
        home = Home.open(tmp_path)
        home.store.transact(lambda connection: metalakes.create(connection, "m", by="me"))
        assert {mode(file) for file in tmp_path.glob("lake.db*")} == {0o600}
        home.close()
    finally:
        os.umask(before)


def test_it_is_opened_again_as_it_is(tmp_path: Path) -> None:
    first = Home.open(tmp_path)
    token = first.token_file.read_text()
    first.close()
    with_dropped = Home.open(tmp_path)
    assert with_dropped.first_token is None
    assert with_dropped.token_file.read_text() == token
    with_dropped.store.transact(lambda connection: catalogs.drop(connection, "lanceway", "lake"))
    with_dropped.close()
    again = Home.open(tmp_path)
    assert again.store.read(lambda connection: catalogs.names(connection, "lanceway")) == [], (
        "whoever dropped it meant it"
    )
    again.close()


def test_several_that_open_it_at_once_make_one(tmp_path: Path) -> None:
    with ThreadPoolExecutor(6) as pool:
        homes = list(pool.map(Home.open, [tmp_path / "home"] * 6))
    (token,) = [home.first_token for home in homes if home.first_token]
    assert homes[0].token_file.read_text().strip() == token
    for home in homes:
        home.close()


def test_database_and_warehouse_may_be_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    home = Home.open(Path("home"), database=f"sqlite:///{tmp_path}/other.db", warehouse="data")
    assert (tmp_path / "other.db").exists()
    assert not (tmp_path / "home" / "lake.db").exists()
    assert home.warehouse == str(tmp_path / "data")
    home.close()


def test_a_home_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidInputError, match="--home"):
        Home.open(tmp_path / "file")
    with pytest.raises(InvalidInputError, match="--home"):
        Home.open(tmp_path / "file" / "home")
    assert os.listdir(tmp_path) == ["file"]


def test_an_alias_is_not_handed_on_to_another_issuer(tmp_path: Path) -> None:
    def settings(issuer: str, alias: str | None = None) -> config.ServerSettings:
        oidc = {"oidc_issuer": issuer, "oidc_audience": "lanceway", "oidc_jwks_uri": "https://login.example.com/keys"}
        return config.server(None, {"home": tmp_path / "home", **oidc, "oidc_alias": alias})

    first, other = "https://login.example.com/realms/data", "https://login.example.com/realms/guests"
    prepare(settings(first))
    prepare(settings(first))
    with pytest.raises(InvalidInputError, match=r"'login\.example\.com' stands for the issuer .*realms/data"):
        prepare(settings(other))
    prepare(settings(other, "guests"))
