"""The verbs about users, rights, tokens and catalogs with a server elsewhere: over HTTP, as the user who is logged in.

Each of them works, or is refused with a sentence that says where it does.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from lanceway.lake.store.database import open_store
from tests.cli.conftest import Ended, Run
from tests.cli.test_help import VERBS
from tests.servers import lanceway
from tests.servers.lanceway import Lanceway

FAMILIES = {"users", "groups", "roles", "grants", "owners", "access", "tokens", "audit", "catalogs"}
# In the order of a life: what one creates, others use.
LIFE = (
    "users create ada",
    "users create grace",
    "users show ada",
    "users list --enabled",
    "users disable ada",
    "users enable ada",
    "users promote grace",
    "users demote grace",
    "users rename grace hopper",
    "groups create analysts",
    "groups add analysts ada hopper",
    "groups show analysts",
    "groups list",
    "groups remove analysts hopper",
    "roles create reader --comment reads",
    "roles give reader analysts --group",
    "roles show reader",
    "roles list",
    "grants add reader lake USE_CATALOG select-table",
    "grants deny reader lake MODIFY_TABLE",
    "grants list --role reader",
    "grants what-if reader lake SELECT_TABLE --deny",
    "grants why ada SELECT_TABLE lake",
    "grants who lake",
    "grants user ada",
    "grants revoke reader lake MODIFY_TABLE --deny",
    "grants purge-dangling",
    "owners show lake",
    "owners set lake analysts --group",
    "access status",
    "access disable --yes",
    "access enable --yes",
    "tokens create ada --label laptop --expires 1h",
    "tokens list --user ada --all",
    "tokens revoke {prefix}",
    "audit list --user admin --since 1h",
    "catalogs create flat --flat --comment c --property a=b",
    "catalogs list",
    "catalogs describe flat",
    "catalogs alter flat --unset-property a --comment=",
    "catalogs disable flat",
    "catalogs enable flat",
    "catalogs enable-nested flat --dry-run",
    "catalogs enable-nested flat",
    "catalogs test flat",
    "catalogs drop flat --yes",
    "roles take reader analysts --group",
    "roles delete reader",
    "groups delete analysts",
    "users delete hopper",
)
REFUSED = (
    "users issuers",
    "users issuer acme https://id.acme.example",
    "audit purge --older-than 30d",
    "tokens revoke --user ada",
)
# What the program knows by itself, and what is a job between catalogs.
OTHERS = {("grants", "privileges"), ("catalogs", "crawl"), ("catalogs", "sync"), ("catalogs", "migrate")}


@pytest.fixture(scope="module")
def elsewhere(request: pytest.FixtureRequest) -> Lanceway:
    """A server of this module's own, since users and access control are all of a server's."""
    return lanceway.start(request.getfixturevalue("whole_run"), name="elsewhere")


@pytest.fixture
def admin(bare: Run, elsewhere: Lanceway) -> Run:
    """The program, logged in as the admin. Each run must succeed."""
    assert bare("login", elsewhere.address, "--name", "prod", stdin=elsewhere.token).code == 0

    def run(*arguments: str, **options: str) -> Ended:
        ended = bare(*arguments, **options)
        assert ended.code == 0, (arguments, ended)
        return ended

    return run


@pytest.fixture
def user(bare: Run, elsewhere: Lanceway, admin: Run) -> Run:
    """The program, logged in as a user without rights."""
    token = admin("tokens", "create", "ada").out
    assert bare("login", elsewhere.address, "--name", "mine", stdin=token).code == 0
    return bare


def test_every_verb_works_or_says_where_it_does(admin: Run, bare: Run, elsewhere: Lanceway, tmp_path: Path) -> None:
    for line in LIFE:
        prefix = admin("tokens", "list", "--user", "ada", "--json").json[0]["prefix"] if "{" in line else ""
        admin(*line.format(prefix=prefix).split(" "))
    for line in REFUSED:
        ended = bare(*line.split())
        assert (ended.code, ended.out) == (1, ""), line
        assert "Run it on the server's machine with --home DIR." in ended.err
    assert not (tmp_path / "nobody").exists(), "no database was looked for"


def test_no_verb_is_forgotten() -> None:
    seen = {tuple(line.split()[:2]) for line in (*LIFE, *REFUSED)}
    assert {path for path in VERBS if path[0] in FAMILIES} == seen | OTHERS


@pytest.mark.parametrize(
    "line",
    [
        "users list",
        "users show admin",
        "groups list",
        "groups show team",
        "roles list",
        "roles show writer",
        "grants list --role writer",
        "grants list --object lake",
        "grants list --dangling",
        "grants why bob SELECT_TABLE lake",
        "grants who lake",
        "grants user bob",
        "grants what-if writer lake SELECT_TABLE --revoke",
        "owners show lake",
        "tokens list --user bob",
        "audit list --user bob",
        "catalogs list",
    ],
)
def test_a_server_answers_as_its_database_does(admin: Run, bare: Run, elsewhere: Lanceway, line: str) -> None:
    for before in (
        "users create bob",
        "groups create team",
        "roles create writer",
        "groups add team bob",
        "roles give writer team --group",
        "grants add writer lake USE_CATALOG SELECT_TABLE",
    ):
        bare(*before.split())  # the first of these tests makes them
    for as_json in ((), ("--json",)):
        there = bare(*line.split(), *as_json, "--home", str(elsewhere.home))
        assert there.code == 0, there
        assert admin(*line.split(), *as_json) == there


def test_what_changed_is_said_verb_first(admin: Run) -> None:
    said = {
        "users create eve": "Created user eve.",
        "users create root --admin": "Created admin root.",
        "groups create people": "Created group people.",
        "groups add people eve": "Added eve to group people.",
        "roles create looker": "Created role looker.",
        "roles give looker people --group": "Gave role looker to group people.",
        "grants add looker lake use-catalog": "Granted USE_CATALOG on lake to looker.",
        "grants add looker lake USE_CATALOG": "Nothing changed: USE_CATALOG on lake is already granted to looker.",
        "grants deny looker lake SELECT_TABLE": "Denied SELECT_TABLE on lake to looker.",
        "grants revoke looker lake SELECT_TABLE --deny": "Revoked the denial of SELECT_TABLE on lake from looker.",
        "grants revoke looker lake SELECT_TABLE": "Nothing changed: SELECT_TABLE on lake is not granted to looker.",
        "roles take looker people --group": "Took role looker from group people.",
        "groups remove people eve": "Removed eve from group people.",
        "roles delete looker": "Deleted role looker.",
        "groups delete people": "Deleted group people.",
        "users delete root": "Deleted user root.",
        "users delete eve": "Deleted user eve.",
    }
    assert {line: admin(*line.split()).out for line in said} == {line: f"{text}\n" for line, text in said.items()}


def test_pages(admin: Run, bare: Run) -> None:
    for name in ("page-a", "page-b", "page-c"):
        admin("groups", "create", name)
    first = admin("groups", "list", "--limit", "2", "--json").json
    assert len(first["groups"]) == 2
    second = admin("groups", "list", "--limit", "2", "--page-token", first["page_token"], "--json").json
    listed = [group["name"] for page in (first, second) for group in page["groups"]]
    assert listed == [group["name"] for group in admin("groups", "list", "--json").json][:4]
    assert "page_token" in bare("groups", "list", "--page-token", "nonsense").err


def test_members_are_all_added_or_none(admin: Run, bare: Run) -> None:
    admin("groups", "create", "half")
    admin("tokens", "create", "carol")
    ended = bare("groups", "add", "half", "carol", "nemo")
    assert (ended.code, "There is no user 'nemo'" in ended.err) == (1, True), ended
    assert admin("groups", "show", "half", "--json").json["members"] == []


def test_a_user_has_the_rights_that_the_server_gives(user: Run, elsewhere: Lanceway) -> None:
    assert user("grants", "why", "ada", "read table", "lake", "--json").json["allowed"] is False
    assert user("grants", "user", "ada", "--json").json["user"] == "ada"
    own = user("tokens", "create", "ada", "--json").json
    assert own["prefix"] in [token["prefix"] for token in user("tokens", "list", "--json").json]
    assert user("tokens", "revoke", own["prefix"]).out == f"Revoked token {own['prefix']} of ada.\n"
    refused = user("users", "create", "mallory")
    assert (refused.code, refused.out) == (1, "")
    assert "MANAGE_USERS" in refused.err
    assert "Only an admin" in user("tokens", "list", "--user", "admin").err
    assert "Only an admin" in user("audit", "list", "--user", "admin").err
    assert json.loads(user("users", "create", "mallory", "--json").err)["code"] == 15
    assert user("users", "create", "mallory", "--home", str(elsewhere.home)).code == 0, "with the database"


def test_a_token_that_ended_asks_to_log_in_again(user: Run, elsewhere: Lanceway) -> None:
    for token in user("tokens", "list", "--json").json:
        user("tokens", "revoke", token["prefix"], "--home", str(elsewhere.home))
    ended = user("grants", "user", "ada")
    assert (ended.code, ended.out) == (1, "")
    assert f"Log in again: lanceway login {elsewhere.address}" in ended.err


def test_a_whole_token_is_not_sent(user: Run, elsewhere: Lanceway) -> None:
    secret = user("tokens", "create", "ada").out.strip()
    ended = user("tokens", "revoke", secret)
    assert (ended.code, f"Give its prefix alone: {secret[:15]}" in ended.err) == (1, True)
    assert "not a prefix of a token" in user("tokens", "revoke", f"x{secret}").err
    assert secret not in ended.err + elsewhere.lines()


@pytest.mark.parametrize("name", ["", "ada/"])
def test_a_name_that_a_path_has_not(admin: Run, bare: Run, name: str) -> None:
    assert "is not a name" in bare("users", "delete", name).err


def test_an_admin_with_its_token_takes_two_steps(admin: Run, bare: Run) -> None:
    assert "lanceway users promote eve" in bare("tokens", "create", "eve", "--admin").err


def test_a_catalog_with_a_secret(admin: Run, bare: Run) -> None:
    where = ("--type", "rest", "--set", "uri=http://127.0.0.1:9", "--no-test")
    refused = bare("catalogs", "create", "there", *where, "--set", "token=sesame")
    assert (refused.code, "--secret token" in refused.err) == (2, True)
    made = admin("catalogs", "create", "there", *where, "--secret", "token", "--json", stdin="sesame\n").json
    assert (made["secrets"], made["checks"]) == (["token"], [])
    changed = admin("catalogs", "alter", "there", "--rename", "elsewhere", "--no-test", "--json").json
    assert changed["name"] == "elsewhere"
    assert bare("catalogs", "test", "elsewhere").code == 1
    assert admin("catalogs", "drop", "elsewhere", "--yes").out == "Dropped catalog elsewhere.\n"


def test_a_folder_of_this_machine(admin: Run, bare: Run, tmp_path: Path) -> None:
    """A server on loopback has the same folders, but works in another one."""
    made = admin("catalogs", "create", "folder", "--type", "dir", "--set", "path=./here", "--no-test", "--json").json
    assert made["settings"] == {"path": str(tmp_path / "here")}
    admin("catalogs", "drop", "folder", "--yes")


# -- which server --------------------------------------------------------------------------------

# How a verb that only a database has ends.
HTTP, DATABASE = (1, "Run it on the server's machine"), (0, "")


def asked(bare: Run, *arguments: str) -> tuple[int, str]:
    """Return how a verb ends that only a database has."""
    ended = bare("users", "issuers", *arguments)
    return ended.code, "Run it on the server's machine" if "Run it on" in ended.err else ended.err


def test_which_server(bare: Run, elsewhere: Lanceway, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is chosen is asked; with a database that is named, or nothing chosen, the database is."""
    assert asked(bare)[0] == bare("events", "--after", "latest").code == 2
    monkeypatch.setenv("LANCEWAY_SERVER__HOME", str(elsewhere.home))
    assert asked(bare) == DATABASE, "a server that runs on this machine is not chosen"
    assert asked(bare, "--url", elsewhere.address) == HTTP
    with monkeypatch.context() as context:
        context.setenv("LANCEWAY_URI", elsewhere.address)
        assert asked(bare) == HTTP
        assert asked(bare, "--home", str(elsewhere.home)) == DATABASE
        assert asked(bare, "--uri", f"sqlite:///{elsewhere.home}/lake.db") == DATABASE
    assert bare("login", elsewhere.address, "--name", "prod", stdin=elsewhere.token).code == 0
    assert asked(bare) == asked(bare, "--in", "prod") == HTTP
    assert bare("events", "--after", "latest").code == 0
    (tmp_path / "lanceway.toml").write_text(
        f'[namespaces.far]\ntype = "rest"\nuri = "{elsewhere.uri}"\nat = "lake"\n'
        f'[namespaces.near]\ntype = "lake"\nuri = "sqlite:///{elsewhere.home}/lake.db"\n'
    )
    assert asked(bare) == DATABASE, "a file here wins over a login"
    assert asked(bare, "--in", "far") == HTTP
    assert asked(bare, "--in", "near") == DATABASE


def test_a_token_of_the_environment(bare: Run, elsewhere: Lanceway, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANCEWAY_TOKEN", elsewhere.token)
    assert "admin" in bare("users", "list", "--url", elsewhere.address).out


def test_a_server_of_others_has_no_users(bare: Run) -> None:
    ended = bare("users", "list", "--type", "rest", "--set", "uri=http://127.0.0.1:9/other")
    assert (ended.code, ended.err.startswith("lanceway: only a Lanceway server has this")) == (1, True)
    ended = bare("users", "list", "--type", "rest", "--set", "uri=http://127.0.0.1:9/lance", "--set", "retries=0")
    assert (ended.code, ended.err.startswith("lanceway: http://127.0.0.1:9/lanceway cannot be reached")) == (1, True)


@pytest.mark.parametrize("line", ["grants why admin SELECT_TABLE lake", "users list", "catalogs list"])
def test_no_database_is_loaded(elsewhere: Lanceway, line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program = (
        "import sys\nfrom lanceway.cli import main\n"
        f"sys.argv = ['lanceway', *{line.split()!r}]\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code\n"
        "print(sorted({'sqlalchemy', 'alembic', 'lance', 'starlette'} & set(sys.modules)))"
    )
    monkeypatch.setenv("LANCEWAY_URI", elsewhere.address)
    monkeypatch.setenv("LANCEWAY_TOKEN", elsewhere.token)
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ended.stdout.splitlines()[-1] == "[]"


def test_the_database_of_the_usual_home_is_used_as_before(bare: Run, tmp_path: Path) -> None:
    (tmp_path / "nobody" / ".lanceway").mkdir(parents=True)
    open_store(f"sqlite:///{tmp_path}/nobody/.lanceway/lake.db").close()
    assert bare("users", "create", "ada").out == "Created user ada.\n"
