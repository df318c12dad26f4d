"""The page of all methods, made by calling each of them on a real server."""

from __future__ import annotations

import asyncio
import uuid
import warnings

from tests.clients.lancedb.judgement import GROUPS, OPENING, QUERIES, Group, Outcomes, query_section, section
from tests.clients.lancedb.side import SIDES, Side, done
from tests.servers.lanceway import Lanceway


def judge(server: Lanceway, *groups: Group) -> dict[str, dict[str, Outcomes]]:
    """Call every method of some groups: what became of each, by the group's title and the side."""
    judged: dict[str, dict[str, Outcomes]] = {group.title: {} for group in groups}
    for name in SIDES:
        for title, outcomes in asyncio.run(_judge(server, name, groups)).items():
            judged[title][name] = outcomes
    return judged


async def _judge(server: Lanceway, name: str, groups: tuple[Group, ...]) -> dict[str, Outcomes]:
    space = f"s{uuid.uuid4().hex[:12]}"
    side = Side(name, server.uri, server.token, f"lake/{space}")
    whole = await side.connect("lake")
    await done(whole.create_namespace([space]))
    side.db = await side.connect()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # deprecated methods are judged as well
        judged = {group.title: await group.run(side) for group in groups}
    await done(whole.drop_namespace([space], behavior="cascade"))
    return judged


def page(server: Lanceway) -> str:
    judged = judge(server, *GROUPS)
    return "\n".join(
        [OPENING, *(section(group, judged[group.title]) for group in GROUPS), query_section(judge(server, *QUERIES))]
    )
