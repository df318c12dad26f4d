"""`lanceway grants …`: what roles are granted and denied, and questions about it."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from lanceway.cli.command import command, group
from lanceway.cli.lake.options import Uri
from lanceway.cli.output.words import counted
from lanceway.cli.server.desks.desk import GrantChoice, PrivilegeChange
from lanceway.cli.server.homes import Home
from lanceway.cli.server.rights import Kind, Object, Role, User, named, opened, show_pages
from lanceway.cli.session import Limit, PageToken, Session

app = group(
    "Grants: what roles may do with which objects, and questions about it. A grant holds for the object and all that "
    "is inside; a denial on the way wins over every grant."
)

PrivilegeNames = Annotated[
    list[str],
    typer.Argument(metavar="PRIVILEGE...", help="Privileges, such as SELECT_TABLE: lanceway grants privileges"),
]
PrivilegeName = Annotated[
    str, typer.Argument(metavar="PRIVILEGE", help="A privilege, such as SELECT_TABLE: lanceway grants privileges")
]
Deny = Annotated[bool, typer.Option("--deny", help="The denial, and not the grant.")]
_COLUMNS = {
    "role": "role",
    "effect": "effect",
    "privilege": "privilege",
    "kind": "kind",
    "object": "object",
    "granted_by": "by",
}


@command(app, "list")
def list_(
    session: Session,
    role: Annotated[str | None, typer.Option("--role", help="The grants and denials of this role.")] = None,
    object_: Annotated[
        str | None, typer.Option("--object", metavar="OBJECT", help="The grants and denials on this object itself.")
    ] = None,
    dangling: Annotated[
        bool, typer.Option("--dangling", help="Those on objects that mounted catalogs have no longer.")
    ] = False,
    kind: Kind = None,
    limit: Limit = None,
    page_token: PageToken = None,
    home: Home = None,
    uri: Uri = None,
) -> None:
    """List grants and denials, the oldest first: of a role, on an object, or those that dangle.

    Examples: lanceway grants list --role reader, lanceway grants list --object lake.team
    """
    if (role is not None) + (object_ is not None) + dangling != 1:
        raise typer.BadParameter("give one of --role, --object and --dangling.", param_hint="'--role'")
    place = None if object_ is None else named(session, object_, kind)
    choice = GrantChoice(role, place, dangling, session.delimiter)
    with opened(session, home, uri) as desk:
        show_pages(session, _COLUMNS, "grants", partial(desk.list_grants, choice), limit, page_token)


@command(app, "add")
def add(
    session: Session,
    role: Role,
    object_: Object,
    privileges: PrivilegeNames,
    kind: Kind = None,
    home: Home = None,
    uri: Uri = None,
) -> None:
    """Grant privileges on an object to a role: all of them, or none. What is granted already stays as it is.

    Example: lanceway grants add reader lake.team USE_SCHEMA SELECT_TABLE
    """
    _change(session, home, uri, role, (object_, kind), privileges)


@command(app, "deny")
def deny(
    session: Session,
    role: Role,
    object_: Object,
    privileges: PrivilegeNames,
    kind: Kind = None,
    home: Home = None,
    uri: Uri = None,
) -> None:
    """Deny privileges on an object to a role. A denial wins over all grants, on the object and all that is inside.

    Example: lanceway grants deny reader lake.team.salaries SELECT_TABLE
    """
    _change(session, home, uri, role, (object_, kind), privileges, deny=True)


@command(app, "revoke")
def revoke(
    session: Session,
    role: Role,
    object_: Object,
    privileges: PrivilegeNames,
    deny: Deny = False,
    kind: Kind = None,
    home: Home = None,
    uri: Uri = None,
) -> None:
    """Take grants back, or with --deny denials. Nothing is denied by it.

    Example: lanceway grants revoke reader lake.team SELECT_TABLE
    """
    _change(session, home, uri, role, (object_, kind), privileges, deny=deny, revoke=True)


@command(app, "purge-dangling")
def purge_dangling(session: Session, home: Home = None, uri: Uri = None) -> None:
    """Delete the grants and denials that dangle: on objects that mounted catalogs have no longer.

    They hold no longer in any case. See them first: lanceway grants list --dangling
    """
    with opened(session, home, uri) as desk:
        count = desk.purge_dangling()
    session.output.done(f"Deleted {counted(count, 'dangling grant')}.", {"deleted": count})


@command(app, "what-if")
def what_if(
    session: Session,
    role: Role,
    object_: Object,
    privilege: PrivilegeName,
    deny: Deny = False,
    revoke: Annotated[bool, typer.Option("--revoke", help="Take it back, instead of making it.")] = False,
    kind: Kind = None,
    home: Home = None,
    uri: Uri = None,
) -> None:
    """Show which users a change would give or take a privilege, and on how many objects. Nothing is changed.

    What is in mounted catalogs is not counted: of those it shows who has the role. At most a hundred are shown.

    Example: lanceway grants what-if reader lake.team SELECT_TABLE --deny
    """
    with opened(session, home, uri) as desk:
        found = desk.what_if(PrivilegeChange(role, named(session, object_, kind), privilege, deny, revoke))
    if session.json:
        session.output.record(found)
        return
    session.output.records({"kind": "kind", "name": "name", "gained": "gained", "lost": "lost"}, found["effects"])
    if any(effect["gained"] is None for effect in found["effects"]):
        session.output.text("text", "What is in a mounted catalog is its service's, and is not counted.")
    if found["effects_count"] > len(found["effects"]):
        text = f"These are the first {len(found['effects'])} of {found['effects_count']:,} that have the role."
        session.output.text("text", text)


@command(app, "why")
def why(
    session: Session,
    user: User,
    action: Annotated[
        str,
        typer.Argument(
            metavar="ACTION",
            help="A rule ('read table'), an operation (query_table) or a privilege (SELECT_TABLE): lanceway grants "
            "privileges --actions",
        ),
    ],
    object_: Object,
    kind: Kind = None,
    home: Home = None,
    uri: Uri = None,
) -> None:
    """Show whether a user may do something to an object, and why: the grant, the denial, the owner, or what is missing.

    Examples: lanceway grants why ada "read table" lake.team.sales, lanceway grants why ada create_table lake.team.new
    """
    with opened(session, home, uri) as desk:
        answer = desk.why(user, action, named(session, object_, kind))
    if session.json:
        session.output.record(answer)
        return
    lines = [answer["text"]]
    if "if_enabled" in answer:
        lines.append(f"With access control on: {answer['if_enabled']['text']}")
    lines += [f"Not looked at, as only a request names it: {each}." for each in answer["not_asked"]]
    session.output.text("text", "\n".join(lines))


@command(app, "who")
def who(session: Session, object_: Object, kind: Kind = None, home: Home = None, uri: Uri = None) -> None:
    """Show who can do what to an object: its owners, and all grants and denials that count there.

    Example: lanceway grants who lake.team.sales
    """
    with opened(session, home, uri) as desk:
        found = desk.who(named(session, object_, kind))
    if session.json:
        session.output.record(found)
        return
    columns = {"who": "who", "effect": "effect", "privilege": "privilege", "object": "on", "role": "role"}
    session.output.records(columns, _who_rows(found))
    _tell_truncated(session, found, "an object here")


@command(app, "user")
def user(session: Session, name: User, home: Home = None, uri: Uri = None) -> None:
    """Show what a user can do: groups, roles, and all that these are granted and denied.

    Groups that an issuer names are not known here.
    """
    with opened(session, home, uri) as desk:
        found = desk.rights_of(name, session.delimiter)
    if session.json:
        session.output.record(found)
        return
    roles = [
        f"{given['role']} of the group {given['name']}" if given["kind"] == "group" else given["role"]
        for given in found["roles"]
    ]
    head = {"user": found["user"], "admin": found["is_admin"], "groups": found["groups"], "roles": roles}
    session.output.record(head)
    session.output.records(_COLUMNS, found["grants"])
    _tell_truncated(session, found, "a role")


@command(app, "privileges")
def privileges(
    session: Session,
    actions: Annotated[
        bool, typer.Option("--actions", help="List all that one can ask `why` about, with what each needs.")
    ] = False,
) -> None:
    """List all privileges, with what each allows and on what it can be granted."""
    from lanceway.access.rights import actions as known

    if actions:
        rows = known.described()
        shown = [{**row, "needs": _needs(row)} for row in rows]
        session.output.records({"name": "action", "kind": "kind", "needs": "needs"}, rows if session.json else shown)
        return
    listed = [{**row, "on": ", ".join(row["allows"])} for row in known.described_privileges()]
    columns = {"name": "privilege", "category": "category", "on": "on", "description": "allows"}
    session.output.records(columns, known.described_privileges() if session.json else listed)


def _needs(action: dict[str, Any]) -> str:
    return ", ".join(f"{demand['rule']} ({demand['of']})" for demand in action["demands"]) or "nothing; it is filtered"


def _tell_truncated(session: Session, found: dict[str, Any], of: str) -> None:
    if found["truncated"]:
        text = f"There are more: of {of} that has very many grants, the first are shown. All: lanceway grants list"
        session.output.text("text", text)


def _who_rows(found: dict[str, Any]) -> list[dict[str, Any]]:
    """Return one row for each owner, and for each user and group that has a role with a grant."""
    owners = [
        {"who": f"{each['owner_kind']} {each['owner']}", "effect": "owner", "object": each["object"]}
        for each in found["owners"]
    ]
    holders: dict[str, list[str]] = {}
    for holder in found["holders"]:
        holders.setdefault(holder["role"], []).append(f"{holder['kind']} {holder['name']}")
    return owners + [
        {**grant, "who": name} for grant in found["grants"] for name in holders.get(grant["role"], ["no one"])
    ]


def _change(
    session: Session,
    home: Path | None,
    uri: str | None,
    role: str,
    where: tuple[str, str | None],
    privileges: list[str],
    *,
    deny: bool = False,
    revoke: bool = False,
) -> None:
    place = named(session, *where)
    names = [privilege.strip().upper().replace("-", "_").replace(" ", "_") for privilege in privileges]
    with opened(session, home, uri) as desk:
        changed = desk.change_grants([PrivilegeChange(role, place, name, deny, revoke) for name in names])
    sentence = _sentence(", ".join(names), place.text, role, any(changed), deny=deny, revoke=revoke)
    facts = {"role": role, "object": place.text, "changed": dict(zip(names, changed, strict=True))}
    session.output.done(sentence, facts)


def _sentence(what: str, place: str, role: str, changed: bool, *, deny: bool, revoke: bool) -> str:
    """Return what was done: `Granted SELECT_TABLE on lake.team to reader.`"""
    if not changed:
        state = f"{'not' if revoke else 'already'} {'denied' if deny else 'granted'}"
        return f"Nothing changed: {what} on {place} {'are' if ', ' in what else 'is'} {state} to {role}."
    if revoke:
        return f"Revoked {'the denial of ' if deny else ''}{what} on {place} from {role}."
    return f"{'Denied' if deny else 'Granted'} {what} on {place} to {role}."
