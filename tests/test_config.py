"""Settings: the file, then the environment, then the argument; and nothing secret in what people see."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

import lanceway
from lanceway import config
from lanceway.config import Setting, is_secret, read_settings, redacted
from lanceway.errors import InvalidInputError

ROWS = (
    Setting("path", "The folder.", required=True, aliases=("root",)),
    Setting("layout", "How.", choices=("plain", "lance")),
    Setting("retries", "How often.", kind=int, default=3),
    Setting("wait", "How long.", kind=float),
    Setting("ssl", "Whether.", kind=bool, default=True),
    Setting("token", "Who.", secret=True),
    Setting("storage.*", "Storage options."),
)
SECRET = "hunter2-hunter2"


@pytest.fixture(autouse=True)
def empty_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No configuration anywhere: neither in the working folder, nor the user's, nor the environment."""
    work, home = tmp_path / "work", tmp_path / "home"
    work.mkdir()
    home.mkdir()
    monkeypatch.chdir(work)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.delenv("LANCEWAY_CONFIG", raising=False)


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def section(name: str, **settings: str) -> str:
    return f"[namespaces.{name}]\n" + "".join(f'{key} = "{value}"\n' for key, value in settings.items())


# -- settings ------------------------------------------------------------------------------------


def test_settings_are_complete_and_converted() -> None:
    values = read_settings("X", ROWS, {"path": "p", "retries": "7", "wait": "1.5", "ssl": "No", "storage.region": "r"})
    assert dict(values) == {
        "path": "p",
        "layout": None,
        "retries": 7,
        "wait": 1.5,
        "ssl": False,
        "token": None,
        "storage": {"region": "r"},
    }


def test_values_may_arrive_as_what_they_are_or_as_strings() -> None:
    native = read_settings("X", ROWS, {"path": "p", "retries": 7, "ssl": False, "storage.allow_http": True})
    text = read_settings("X", ROWS, {"path": "p", "retries": " 7 ", "ssl": "false", "storage.allow_http": "true"})
    assert native == text


def test_none_means_not_given() -> None:
    assert read_settings("X", ROWS, {"path": "p", "retries": None})["retries"] == 3


def test_an_alias_is_its_setting() -> None:
    assert read_settings("X", ROWS, {"root": "p"})["path"] == "p"


def test_choices_are_taken_in_any_case() -> None:
    assert read_settings("X", ROWS, {"path": "p", "layout": "LANCE"})["layout"] == "lance"


def test_settings_cannot_be_changed() -> None:
    values = read_settings("X", ROWS, {"path": "p"})
    with pytest.raises(TypeError):
        values["path"] = "q"  # type: ignore[index]


def test_an_unknown_setting_is_refused_with_the_known_ones_and_the_nearest() -> None:
    with pytest.raises(InvalidInputError) as refused:
        read_settings("X", ROWS, {"path": "p", "retrys": SECRET})
    for part in ("X has no setting 'retrys'", "Did you mean 'retries'?", "layout", "storage.*"):
        assert part in str(refused.value)
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize("key", ["storage", "storage.", "storagex", "Path"])
def test_near_misses_are_unknown(key: str) -> None:
    with pytest.raises(InvalidInputError, match="has no setting"):
        read_settings("X", ROWS, {"path": "p", key: "1"})


def test_a_missing_setting_is_named_with_its_meaning() -> None:
    with pytest.raises(InvalidInputError, match=r"needs the setting 'path': The folder\."):
        read_settings("X", ROWS, {})


@pytest.mark.parametrize(
    ("key", "value", "must"),
    [
        ("retries", "many", "a whole number"),
        ("retries", "1.5", "a whole number"),
        ("wait", "long", "a number"),
        ("ssl", "perhaps", "true or false"),
        ("layout", "flat", "one of plain, lance"),
    ],
)
def test_a_value_of_the_wrong_kind_is_refused(key: str, value: str, must: str) -> None:
    with pytest.raises(InvalidInputError, match=f"{key} is '{value}', but must be {must}"):
        read_settings("X", ROWS, {"path": "p", key: value})


def test_a_secret_of_the_wrong_kind_is_not_repeated() -> None:
    rows = (Setting("pin", "A number.", kind=int, secret=True),)
    with pytest.raises(InvalidInputError) as refused:
        read_settings("X", rows, {"pin": SECRET})
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize(
    "key",
    [
        "token",
        "storage.aws_secret_access_key",
        "storage.aws_access_key_id",
        "storage.azure_storage_sas_token",
        "storage.account_key",
        "storage.password",
    ],
)
def test_secrets_are_known_and_never_shown(key: str) -> None:
    assert is_secret(ROWS, key)
    assert redacted(ROWS, {key: SECRET, "path": "p"}) == {key: "***", "path": "p"}


def test_what_is_no_secret_is_shown() -> None:
    given = {"path": "p", "storage.aws_region": "r", "storage.allow_http": True}
    assert redacted(ROWS, given) == {"path": "p", "storage.aws_region": "r", "storage.allow_http": "true"}


# -- lanceway.toml -------------------------------------------------------------------------------


def test_nothing_configured_is_no_namespace() -> None:
    assert config.config_file() is None
    assert config.namespaces() == {}


def test_a_namespace_has_the_name_its_user_gives_it() -> None:
    write(Path("lanceway.toml"), section("local", type="dir", path="./warehouse"))
    found = config.namespace("local")
    assert (found.name, found.type, dict(found.settings), found.at) == ("local", "dir", {"path": "./warehouse"}, None)


def test_at_is_no_setting_of_the_catalog() -> None:
    write(Path("lanceway.toml"), section("sales", type="dir", path="w", at="team.sales"))
    found = config.namespace("sales")
    assert found.at == "team.sales"
    assert "at" not in found.settings


def test_nested_tables_and_dotted_keys_mean_the_same() -> None:
    nested = '[namespaces.x]\ntype = "dir"\n[namespaces.x.storage]\nregion = "r"\nallow_http = true\nretries = 3\n'
    dotted = (
        '[namespaces.x]\ntype = "dir"\n"storage.region" = "r"\n"storage.allow_http" = "true"\n"storage.retries" = 3\n'
    )
    one = config.namespace("x", write(Path("one.toml"), nested))
    other = config.namespace("x", write(Path("other.toml"), dotted))
    assert one == other
    assert one.settings["storage.allow_http"] == "true"


def test_the_file_is_looked_for_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    user = write(tmp_path / "home" / ".config" / "lanceway" / "lanceway.toml", section("n", type="user"))
    assert config.config_file() == user
    xdg = write(tmp_path / "xdg" / "lanceway" / "lanceway.toml", section("n", type="xdg"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    assert config.config_file() == xdg
    write(Path("lanceway.toml"), section("n", type="here"))
    assert config.namespace("n").type == "here"
    named = write(tmp_path / "named.toml", section("n", type="named"))
    monkeypatch.setenv("LANCEWAY_CONFIG", str(named))
    assert config.namespace("n").type == "named"
    given = write(tmp_path / "given.toml", section("n", type="given"))
    assert config.namespace("n", given).type == "given"


def test_a_named_file_that_is_missing_is_no_reason_to_read_another(monkeypatch: pytest.MonkeyPatch) -> None:
    write(Path("lanceway.toml"), section("n", type="dir"))
    monkeypatch.setenv("LANCEWAY_CONFIG", "elsewhere.toml")
    with pytest.raises(InvalidInputError, match=r"'elsewhere\.toml'"):
        config.namespace("n")


def test_the_environment_overrides_one_value(monkeypatch: pytest.MonkeyPatch) -> None:
    write(Path("lanceway.toml"), section("Lake", type="rest", uri="http://a", token="old"))
    monkeypatch.setenv("LANCEWAY_NAMESPACES__LAKE__TOKEN", SECRET)
    monkeypatch.setenv("LANCEWAY_NAMESPACES__LAKE__STORAGE__AWS_REGION", "r")
    found = config.namespace("Lake")
    assert dict(found.settings) == {"uri": "http://a", "token": SECRET, "storage.aws_region": "r"}


def test_the_environment_alone_can_name_a_namespace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANCEWAY_NAMESPACES__CI__TYPE", "dir")
    monkeypatch.setenv("LANCEWAY_NAMESPACES__CI__PATH", "w")
    assert (config.namespace("ci").type, config.namespace("ci").settings["path"]) == ("dir", "w")


def test_a_variable_for_a_namespace_of_another_file_disturbs_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    write(Path("lanceway.toml"), section("local", type="dir", path="w"))
    monkeypatch.setenv("LANCEWAY_NAMESPACES__LAKE__TOKEN", SECRET)
    assert list(config.namespaces()) == ["local"]


def test_a_malformed_variable_is_refused_without_its_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANCEWAY_NAMESPACES__LAKE", SECRET)
    with pytest.raises(InvalidInputError, match="LANCEWAY_NAMESPACES__LAKE must name") as refused:
        config.namespaces()
    assert SECRET not in str(refused.value)


def test_a_section_that_there_is_not_is_refused_with_the_nearest() -> None:
    write(Path("lanceway.toml"), '[namespace.a]\ntype = "dir"\n')
    with pytest.raises(
        InvalidInputError, match=r"lanceway.toml has no section 'namespace'. Did you mean 'namespaces'\?"
    ):
        config.namespaces()


def test_an_unknown_name_is_refused_with_the_names_there_are() -> None:
    write(Path("lanceway.toml"), section("b", type="dir") + section("a", type="dir"))
    with pytest.raises(InvalidInputError, match=r"No namespace is called 'c' in lanceway\.toml\. It has: a, b\."):
        config.namespace("c")


def test_without_a_file_the_error_says_where_it_was_looked_for() -> None:
    with pytest.raises(InvalidInputError, match=r"no lanceway\.toml here nor in .*\.config/lanceway"):
        config.namespace("c")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[namespaces.x]\npath = 'w'\n", "has no type"),
        ("[namespaces]\nx = 'dir'\n", "must hold sections"),
        ("namespaces = 1\n", "must hold sections"),
        ("[namespaces.x\n", "not valid TOML"),
    ],
)
def test_a_broken_file_is_named(text: str, reason: str) -> None:
    write(Path("lanceway.toml"), text)
    with pytest.raises(InvalidInputError, match=reason):
        config.namespaces()


def test_a_file_that_is_no_text_is_named() -> None:
    Path("lanceway.toml").write_bytes(b"[namespaces.x]\ntype = '\xff'\n")
    with pytest.raises(InvalidInputError, match=r"lanceway\.toml is not valid TOML"):
        config.namespaces()


def test_a_file_that_is_missing_is_named() -> None:
    with pytest.raises(InvalidInputError, match=r"Cannot read gone\.toml: No such file"):
        config.namespaces("gone.toml")


def test_what_was_read_is_not_shown() -> None:
    write(Path("lanceway.toml"), section("x", type="rest", token=SECRET))
    assert SECRET not in repr(config.namespaces())


# -- connecting ----------------------------------------------------------------------------------


def test_arguments_win_over_the_environment_and_that_over_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("file", "environment", "argument"):
        (tmp_path / name / f"{name}_table").mkdir(parents=True)
    write(Path("lanceway.toml"), section("x", type="dir", path=str(tmp_path / "file")))
    assert lanceway.connect(name="x").list_tables({"id": []}).tables == ["file_table"]
    monkeypatch.setenv("LANCEWAY_NAMESPACES__X__PATH", str(tmp_path / "environment"))
    assert lanceway.connect(name="x").list_tables({"id": []}).tables == ["environment_table"]
    given = lanceway.connect(name="x", path=str(tmp_path / "argument"))
    assert given.list_tables({"id": []}).tables == ["argument_table"]


def test_at_makes_a_namespace_the_root(tmp_path: Path) -> None:
    whole = lanceway.connect("dir", path=str(tmp_path / "w"), layout="manifest")
    whole.create_namespace({"id": ["team"]})
    whole.create_namespace({"id": ["team", "sales"]})
    write(Path("lanceway.toml"), section("sales", type="dir", path=str(tmp_path / "w"), at="team"))
    assert lanceway.connect(name="sales").list_namespaces({"id": []}).namespaces == ["sales"]
    assert lanceway.connect(name="sales", at="team.sales").list_namespaces({"id": []}).namespaces == []


def test_connecting_needs_a_type_or_a_name_and_not_both() -> None:
    with pytest.raises(InvalidInputError, match="type and its settings"):
        lanceway.connect()
    with pytest.raises(InvalidInputError, match="not two of them"):
        lanceway.connect("dir", name="x")
    with pytest.raises(InvalidInputError, match=r"'ftp' is not a name in lanceway.toml, nor a type .*Types: .*dir"):
        lanceway.connect("ftp")
    with pytest.raises(InvalidInputError, match=r"no catalog of type 'ftp'\. Known types: .*dir"):
        lanceway.connect(type="ftp")


# -- the lake ------------------------------------------------------------------------------------


def test_the_environment_names_a_lake(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in config.LAKE_VARIABLES.values():
        monkeypatch.delenv(variable, raising=False)
    assert config.lake() == {}
    monkeypatch.setenv("LANCEWAY_DATABASE", "sqlite:///lake.db")
    monkeypatch.setenv("LANCEWAY_SEPARATOR", "~")
    monkeypatch.setenv("LANCEWAY_WAREHOUSE", "")  # as good as none
    assert config.lake() == {"uri": "sqlite:///lake.db", "separator": "~"}


# -- the server ----------------------------------------------------------------------------------

SERVED = """
[server]
port = 9000
cors_origins = ["https://a.example", "https://b.example"]
root_path = "lanceway/"
database = "postgresql://me:hunter2-hunter2@db/lake"
request_timeout = 5
[server.oidc]
issuer = "https://issuer.example"
[server.storage]
secret_access_key = "hunter2-hunter2"
[catalogs.Archive]
type = "dir"
path = "s3://archive"
at = "team.sales"
threads = 2
storage.secret_access_key = "hunter2-hunter2"
[catalogs.theirs]
type = "rest"
uri = "http://a"
deadline = 0.5
"""


@pytest.fixture
def no_lake(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in config.LAKE_VARIABLES.values():
        monkeypatch.delenv(variable, raising=False)


@pytest.mark.usefixtures("no_lake")
def test_a_server_needs_no_settings(tmp_path: Path) -> None:
    found = config.server()
    assert (found.host, found.port, found.workers, found.home) == (
        "127.0.0.1",
        8400,
        1,
        tmp_path / "home" / ".lanceway",
    )
    assert (found.database, found.warehouse, found.catalogs, found.cors_origins) == (None, None, {}, ())
    assert not found.anonymous


@pytest.mark.usefixtures("no_lake")
def test_a_server_reads_its_sections() -> None:
    write(Path("lanceway.toml"), SERVED)
    found = config.server()
    assert (found.port, found.root_path, found.oidc_issuer) == (9000, "/lanceway", "https://issuer.example")
    assert found.cors_origins == ("https://a.example", "https://b.example")
    assert found.storage == {"secret_access_key": SECRET}
    archive, theirs = found.catalogs["Archive"], found.catalogs["theirs"]
    assert (archive.type, archive.at, archive.threads, archive.deadline) == ("dir", "team.sales", 2, 5.0)
    assert archive.settings == {"path": "s3://archive", "storage.secret_access_key": SECRET}
    assert (theirs.threads, theirs.deadline, theirs.settings) == (16, 0.5, {"uri": "http://a"})
    assert pickle.loads(pickle.dumps(found)) == found


def test_secrets_of_a_server_are_not_shown() -> None:
    write(Path("lanceway.toml"), SERVED)
    assert SECRET not in repr(config.server())


def test_the_environment_overrides_the_file_and_an_argument_both(monkeypatch: pytest.MonkeyPatch) -> None:
    write(Path("lanceway.toml"), SERVED)
    for variable, value in {
        "LANCEWAY_DATABASE": "sqlite:///named.db",
        "LANCEWAY_WAREHOUSE": "s3://warehouse",
        "LANCEWAY_SERVER__PORT": "9001",
        "LANCEWAY_SERVER__STORAGE__REGION": "r",
        "LANCEWAY_CATALOGS__ARCHIVE__STORAGE__REGION": "s",
        "LANCEWAY_CATALOGS__NEW__TYPE": "dir",
        "LANCEWAY_CATALOGS__ELSEWHERE__TOKEN": "t",
    }.items():
        monkeypatch.setenv(variable, value)
    found = config.server()
    assert (found.port, found.database, found.warehouse) == (9001, "sqlite:///named.db", "s3://warehouse")
    assert found.storage["region"] == "r"
    assert sorted(found.catalogs) == ["Archive", "new", "theirs"]
    assert found.catalogs["Archive"].settings["storage.region"] == "s"
    monkeypatch.setenv("LANCEWAY_SERVER__DATABASE", "sqlite:///closer.db")
    assert config.server().database == "sqlite:///closer.db"
    given = config.server(arguments={"port": 9002, "database": "sqlite:///given.db", "host": None})
    assert (given.port, given.database, given.host) == (9002, "sqlite:///given.db", "127.0.0.1")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[server]\nprot = 1\n", r"The server has no setting 'prot'\. Did you mean 'port'\?"),
        ("[catalog.x]\ntype = 'dir'\n", r"no section 'catalog'\. Did you mean 'catalogs'\?"),
        ("[catalogs.x]\npath = 'w'\n", r"\[catalogs\.x\] needs the setting 'type'"),
        ("[catalogs.x]\ntype = 'dir'\nthreads = 0\n", r"\[catalogs\.x\]: threads is 0"),
        ("[catalogs.x]\ntype = 'dir'\ndeadline = nan\n", "deadline is nan"),
        ("catalogs = 1\n", "must hold sections"),
        ("server = 1\n", "must be a section"),
        ("[server]\nport = 65536\n", "between 0 and 65535"),
        ("[server]\nworkers = 0\n", "workers is 0"),
        ("[server]\nrequest_timeout = -1\n", "request_timeout is"),
        ("[server]\noidc_leeway = -1\n", "oidc_leeway is"),
        ("[server]\ntls_cert = 'c.pem'\n", "tls_cert but no tls_key"),
        ("[server]\ntls_key = 'k.pem'\n", "tls_key but no tls_cert"),
        ("[server]\ncredentials.type = 'google'\n", "no credentials can be vended for Google Cloud Storage yet"),
        ("[catalogs.x]\ntype = 'dir'\ncredentials.type = 'Azure'\n", r"\[catalogs\.x\]: .*Azure Blob Storage yet"),
        ("[server]\ncredentials.type = 'other'\n", "must be 'sts'"),
        ("[server]\ncredentials.type = 'sts'\n", r"Set credentials\.role_arn"),
        ("[server]\ncredentials.duration = 60\n", r"credentials\.duration but no credentials\.role_arn"),
        ("[server]\ncredentials.role_arn = 'r'\ncredentials.duration = 43201\n", "between 1 and 43200"),
        ("[server]\ncredentials.role = 'r'\n", "no setting 'credentials.role'"),
    ],
)
def test_a_wrong_setting_of_a_server_is_refused(text: str, reason: str) -> None:
    write(Path("lanceway.toml"), text)
    with pytest.raises(InvalidInputError, match=reason):
        config.server()


@pytest.mark.usefixtures("no_lake")
def test_each_storage_has_its_own_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    write(
        Path("lanceway.toml"),
        """
        [server]
        credentials.role_arn = "arn:lake"
        credentials.external_id = "hunter2-hunter2"
        [catalogs.archive]
        type = "dir"
        path = "s3://archive"
        [catalogs.archive.credentials]
        role_arn = "arn:archive"
        duration = 3600
        session_tags = true
        [catalogs.plain]
        type = "dir"
        """,
    )
    monkeypatch.setenv("LANCEWAY_SERVER__CREDENTIALS__STS_ENDPOINT", "http://sts")
    found = config.server()
    assert found.credentials == config.CredentialSettings("arn:lake", external_id=SECRET, sts_endpoint="http://sts")
    assert (found.credentials.duration, found.credentials.life) == (900, 900)
    archive = found.catalogs["archive"]
    assert archive.credentials == config.CredentialSettings("arn:archive", duration=3600, session_tags=True)
    assert archive.settings == {"path": "s3://archive"}
    assert found.catalogs["plain"].credentials is None
    assert config.CredentialSettings("arn", duration=60).life == 900, "STS gives none shorter"
    assert SECRET not in repr(found)
    assert pickle.loads(pickle.dumps(found)) == found


def test_the_home_folder_is_meant_by_a_tilde_in_the_file(tmp_path: Path) -> None:
    sections = section("here", type="dir", path="~/tables") + section("there", type="dir", path="a~b")
    write(Path("lanceway.toml"), sections)
    assert config.namespace("here").settings["path"] == str(tmp_path / "home" / "tables")
    assert config.namespace("there").settings["path"] == "a~b"


def test_paths_are_relative_to_the_running_process(tmp_path: Path) -> None:
    file = write(tmp_path / "elsewhere" / "lanceway.toml", "[server]\nhome = 'state'\nwarehouse = './w'\n")
    found: Any = config.server(file)
    assert (found.home, found.warehouse) == (Path("state"), "./w")
