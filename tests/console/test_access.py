"""Access in a browser: the matrix of grants, people, questions and the audit trail, by what one sees and clicks."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from typing import Any, NamedTuple

import httpx
import pytest
from playwright.sync_api import Browser, Locator, expect

from tests.console.console_helpers import Person
from tests.server.server_helpers import Id, ask, stream, table
from tests.servers.lanceway import Lanceway

SCRIPT = "<img src=x onerror=alert(1)><script>alert(2)</script>"


class Team(NamedTuple):
    """A namespace `outer` with `inner` and a table in it, a role, and a user who has the role by a group."""

    outer: Id
    inner: Id
    table: Id
    role: str
    group: str
    user: str
    token: str
    client: httpx.Client

    def grant(self, id_: Id, privilege: str, **more: Any) -> None:
        change = {"role": self.role, "object": "$".join(id_), "privilege": privilege, **more}
        self.client.post("/grants", json={"changes": [change]}).raise_for_status()

    def grants(self, id_: Id) -> set[tuple[str, str]]:
        answer = self.client.get("/grants", params={"object": "$".join(id_)}).raise_for_status().json()
        return {(grant["privilege"], grant["effect"]) for grant in answer["grants"] if grant["role"] == self.role}


@pytest.fixture(scope="module")
def client(server: Lanceway) -> Iterator[httpx.Client]:
    with server.client(base_url=f"{server.address}/lanceway/v1") as client:
        yield client


@pytest.fixture
def team(server: Lanceway, client: httpx.Client) -> Team:
    mark = uuid.uuid4().hex[:8]
    outer = ["lake", f"team{mark}"]
    inner = [*outer, "inner"]
    role, group, user = f"reader-{mark}", f"crew-{mark}", f"ann-{mark}"
    for id_ in (outer, inner):
        assert ask(server, "namespace", id_, "create").status_code == 200
    assert ask(server, "table", [*inner, "orders"], "create", content=stream(table(1, 2))).status_code == 200
    token = client.post("/tokens", json={"user": user}).raise_for_status().json()["token"]
    for path, body in (
        ("/groups", {"name": group}),
        (f"/groups/{group}/add", {"user": user}),
        ("/roles", {"name": role, "comment": "reads"}),
        (f"/roles/{role}/give", {"group": group}),
    ):
        client.post(path, json=body).raise_for_status()
    return Team(outer, inner, [*inner, "orders"], role, group, user, token, client)


def confirm(person: Person, label: str) -> None:
    """Press the button of a dialog, and wait until it is gone and the page is there again."""
    person.press(label)
    expect(person.page.get_by_role("dialog")).to_have_count(0)
    person.wait()


def cell(person: Person, privilege: str, role: str) -> Locator:
    return person.page.get_by_label(f"{privilege} for {role}", exact=True)


# -- grants ----------------------------------------------------------------------------------------


def test_a_privilege_is_granted_once_its_effect_was_seen(person: Person, team: Team) -> None:
    page = person.open("namespace", team.outer)
    page.get_by_role("link", name="Access", exact=True).last.click()
    person.wait()
    expect(page.get_by_role("heading", level=1)).to_have_text(f"Access to lake › {team.outer[-1]}")
    person.press("Add a role")
    person.fill(Role=team.role)
    person.press("Add")
    cell(person, "Read tables", team.role).select_option("allow")
    expect(page.get_by_text("1 change, not saved yet")).to_be_visible()
    assert team.grants(team.outer) == set()
    person.press("Review and save")
    # The namespace, the one inside, and its table.
    expect(page.get_by_role("dialog")).to_contain_text(f"Gain it: the group {team.group} on 3 objects.")
    expect(page.get_by_role("dialog").get_by_text("allowed", exact=True)).to_have_class(re.compile("good"))
    person.press("Save")
    expect(page.get_by_text("The rights are changed.")).to_be_visible()
    assert team.grants(team.outer) == {("SELECT_TABLE", "allow")}
    person.wait()
    expect(cell(person, "Read tables", team.role)).to_have_value("allow")
    who = page.get_by_role("region", name="Who can do what here")
    expect(who.get_by_role("row", name=team.group)).to_contain_text("SELECT_TABLE")


def test_what_comes_from_above_is_dimmed_and_says_from_where(person: Person, team: Team) -> None:
    team.grant(team.outer, "SELECT_TABLE")
    team.grant(["lake"], "USE_CATALOG")
    page = person.open("access", ["on", *team.table], kind="table")
    inherited = cell(person, "Read tables", team.role)
    expect(inherited).to_have_value("")
    expect(inherited.locator("option:checked")).to_have_text(f"allowed from lake › {team.outer[-1]}")
    assert inherited.evaluate("node => getComputedStyle(node).fontStyle") == "italic"
    assert "SELECT_TABLE" not in inherited.evaluate("node => node.title")
    assert f"Allowed on lake › {team.outer[-1]} by admin" in str(inherited.get_attribute("title"))
    # What cannot be granted on a table is shown where it matters, and cannot be changed here.
    row = page.get_by_role("row", name=re.compile("Use a catalog"))
    expect(row).to_contain_text("allowed from lake")
    assert cell(person, "Use a catalog", team.role).count() == 0


def test_a_denial_at_depth_takes_away_what_was_granted_above(person: Person, team: Team) -> None:
    team.grant(team.outer, "SELECT_TABLE")
    page = person.open("access", ["on", *team.inner], kind="schema")
    cell(person, "Read tables", team.role).select_option("deny")
    person.press("Review and save")
    expect(page.get_by_role("dialog")).to_contain_text(f"Lose it: the group {team.group} on 2 objects.")
    person.press("Save")
    expect(page.get_by_role("dialog")).to_have_count(0)
    person.wait()
    assert team.grants(team.inner) == {("SELECT_TABLE", "deny")}
    # And back: what was inherited is shown again.
    cell(person, "Read tables", team.role).select_option("")
    person.press("Review and save")
    expect(page.get_by_role("dialog")).to_contain_text("Gain it")
    person.press("Save")
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert team.grants(team.inner) == set()


def test_changes_may_be_discarded_and_are_refused_where_others_were_faster(person: Person, team: Team) -> None:
    team.grant(team.outer, "SELECT_TABLE")
    page = person.open("access", ["on", *team.outer], kind="schema")
    cell(person, "Change tables", team.role).select_option("allow")
    person.press("Discard")
    expect(page.get_by_text("not saved yet")).to_have_count(0)
    cell(person, "Read tables", team.role).select_option("")
    team.grant(team.outer, "SELECT_TABLE", revoke=True)
    person.press("Review and save")
    person.expected = ("409",)
    person.press("Save")
    page.get_by_role("alert").wait_for()
    assert "Conflict" in person.refusal()


def test_the_matrix_is_used_by_keyboard_alone(person: Person, team: Team) -> None:
    team.grant(team.outer, "SELECT_TABLE")
    page = person.open("access", ["on", *team.outer], kind="schema")
    cell(person, "Change tables", team.role).focus()
    page.keyboard.press("a")  # Allow
    expect(page.get_by_text("1 change, not saved yet")).to_be_visible()
    expect(cell(person, "Change tables", team.role)).to_be_focused()
    page.get_by_role("button", name="Review and save").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_role("button", name="Review and save")).to_be_focused()


def test_an_owner_is_changed(person: Person, team: Team) -> None:
    page = person.open("access", ["on", *team.inner], kind="schema")
    person.press("Change owner")
    page.get_by_role("dialog").get_by_label("Kind").select_option("group")
    person.fill(Name=team.group)
    person.press("Change owner")
    expect(page.get_by_text("The owner is changed.")).to_be_visible()
    owners = person.wait().get_by_role("region", name="Owners")
    expect(owners.get_by_role("row").nth(1)).to_contain_text(f"{team.group} (group)")


# -- people ----------------------------------------------------------------------------------------


def test_users_groups_and_roles_are_made_and_put_together(person: Person, client: httpx.Client) -> None:
    mark = uuid.uuid4().hex[:8]
    user, group, role = f"bea-{mark}", f"writers-{mark}", f"writer-{mark}"
    page = person.open("access", ["users"])
    person.press("New user")
    person.fill(Name=user)
    confirm(person, "Create")
    expect(page.get_by_role("heading", name=user, exact=True)).to_be_visible()
    person.open("access", ["groups"])
    person.press("New group")
    person.fill(Name=group)
    confirm(person, "Create")
    person.press("Add a member")
    person.fill(User=user)
    confirm(person, "Add")
    expect(person.wait().get_by_role("region", name="Members").get_by_role("link", name=user)).to_be_visible()
    person.open("access", ["roles"])
    person.press("New role")
    person.fill(Name=role, Comment="writes")
    confirm(person, "Create")
    person.press("Give it")
    page.get_by_role("dialog").get_by_label("Kind").select_option("group")
    person.fill(Name=group)
    confirm(person, "Give")
    expect(person.wait().get_by_role("region", name="Holders")).to_contain_text(f"{group} (group)")
    rights = client.get("/access/user", params={"name": user}).raise_for_status().json()
    assert (rights["groups"], [each["role"] for each in rights["roles"]]) == ([group], [role])
    page.get_by_role("region", name="Holders").get_by_role("button", name="Take away").click()
    confirm(person, "Take away")
    expect(page.get_by_text("No one has this role")).to_be_visible()
    person.press("Delete")
    confirm(person, "Delete")
    page.wait_for_url(re.compile("#/access/roles$"))
    assert client.get(f"/roles/{role}").status_code == 404


def test_a_user_is_disabled_and_enabled(person: Person, team: Team) -> None:
    page = person.open("access", ["users", team.user])
    expect(page.get_by_role("region", name=f"What {team.user} can do")).to_have_count(0)
    person.press("Disable")
    confirm(person, "Disable")
    expect(page.get_by_text("disabled", exact=True)).to_be_visible()
    assert team.client.get(f"/users/{team.user}").json()["enabled"] is False
    person.press("Enable")
    confirm(person, "Enable")
    expect(page.get_by_text("enabled", exact=True)).to_be_visible()


def test_what_a_user_can_do_is_listed_with_its_place(person: Person, team: Team) -> None:
    team.grant(team.inner, "SELECT_TABLE", deny=True)
    page = person.open("access", ["users", team.user])
    row = page.get_by_role("region", name=f"What {team.user} can do").get_by_role("row").nth(1)
    expect(row).to_contain_text("deny")
    row.get_by_role("link").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("inner")


# -- questions -------------------------------------------------------------------------------------


def test_a_refusal_says_why_and_what_would_be_enough(person: Person, team: Team) -> None:
    page = person.open("access", ["why", *team.table], kind="table")
    page.get_by_label("User").fill(team.user)
    page.get_by_label("Action").fill("query_table")
    person.press("Ask")
    answer = page.get_by_text(f"{team.user} may not read a table")
    expect(answer).to_contain_text("SELECT_TABLE is missing; it can be granted on")
    expect(page.get_by_text("SELECT_TABLE: Read tables")).to_be_visible()
    assert f"user={team.user}" in person.hash, "the question has an address"
    for id_, privilege in ((["lake"], "USE_CATALOG"), (team.outer, "USE_SCHEMA"), (team.outer, "SELECT_TABLE")):
        team.grant(id_, privilege)
    page.reload()
    expect(page.get_by_text(f"{team.user} may read a table")).to_be_visible()


def test_one_who_may_not_manage_grants_sees_the_reason_and_their_own_rights(
    browser: Browser, server: Lanceway, team: Team
) -> None:
    for id_, privilege in ((["lake"], "USE_CATALOG"), (team.outer, "USE_SCHEMA")):
        team.grant(id_, privilege)
    with Person(browser, server.address, team.token) as ann:
        ann.expected = ("403", "404")
        page = ann.open("access", ["on", *team.outer], kind="schema")
        assert "MANAGE_GRANTS" in ann.refusal()
        own = page.get_by_role("region", name="What you may do here")
        expect(own.get_by_role("row", name="USE_SCHEMA")).to_be_visible()
        assert page.get_by_role("button", name="Add a role").count() == 0
        ann.open("access", ["users"])
        assert "Not allowed" in ann.refusal()
        ann.open("access", ["users", "admin"])
        assert "admin" not in page.locator("main dl").all_inner_texts()
        # Their own groups and roles, and no others.
        ann.open("access", ["groups"])
        expect(page.get_by_role("region", name="Groups").get_by_role("row")).to_have_count(2)
        ann.open("access", ["why", "lake", "nothing-of-this-name"], action="load schema")
        hidden = page.get_by_role("status").filter(has_text="may not").inner_text()
        assert "there is no such object, or" in hidden


def test_the_audit_trail_is_paged_and_filtered_by_time(person: Person, team: Team) -> None:
    for number in range(60):
        team.grant(team.outer, "SELECT_TABLE", revoke=bool(number % 2))
    page = person.open("access", ["audit"], operation="change_grants")
    trail = page.get_by_role("region", name="Audit trail")
    expect(trail.get_by_role("row")).to_have_count(101)
    person.press("More")
    page.wait_for_function("() => document.querySelectorAll('main tbody tr').length > 100")
    page.get_by_label("Outcome").select_option("denied")
    page.get_by_label("Since").fill("2020-01-01T00:00")
    page.get_by_label("Until").fill("2020-01-02T00:00")
    person.press("Show")
    expect(page.get_by_text("Nothing was recorded")).to_be_visible()
    person.wait()
    assert "outcome=denied" in person.hash
    assert "since=1577" in person.hash


# -- attacks and everyone --------------------------------------------------------------------------


def test_names_and_comments_are_never_markup(person: Person, client: httpx.Client) -> None:
    name = f"{SCRIPT}{uuid.uuid4().hex[:6]}"
    assert client.post("/users", json={"name": name}).status_code in (201, 400)
    for path in ("/roles", "/groups"):
        client.post(path, json={"name": name, "comment": SCRIPT})
    role = f"harmless-{uuid.uuid4().hex[:6]}"
    client.post("/roles", json={"name": role, "comment": SCRIPT}).raise_for_status()
    client.post(f"/roles/{SCRIPT}/give", json={"user": SCRIPT})  # refused, and recorded with its reason
    page = person.page
    page.on("dialog", lambda dialog: pytest.fail(f"a script ran: {dialog.message}"))
    person.open("access", ["roles", role])
    expect(page.get_by_text(SCRIPT)).to_be_visible()
    for part in (["roles"], ["users"], ["groups"], ["audit"], ["why", SCRIPT], ["on", "lake", SCRIPT]):
        person.expected = ("404", "400")
        person.open("access", part)
        assert page.locator("main img").count() == 0
        assert page.locator("main script").count() == 0


def test_the_answer_to_a_question_is_not_wider_than_a_telephone(browser: Browser, server: Lanceway, team: Team) -> None:
    with Person(browser, server.address, server.token, width=360) as person:
        page = person.open("access", ["why", *team.table], user=team.user, action="read table", kind="table")
        expect(page.get_by_text("SELECT_TABLE: Read tables")).to_be_visible()
        person.check_access()


@pytest.mark.parametrize("part", ["", "users", "groups", "roles", "why", "me", "audit"])
def test_every_control_has_a_name_and_nothing_is_wider_than_a_telephone(
    browser: Browser, server: Lanceway, part: str
) -> None:
    with Person(browser, server.address, server.token, width=360) as person:
        person.open("access", [part] if part else [])
        person.check_access()
