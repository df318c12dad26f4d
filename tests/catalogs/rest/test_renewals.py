"""Renewals of credentials: one request serves all datasets that a process has of a table."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from lance_namespace import DescribeTableRequest, DescribeTableResponse

from lanceway.catalogs.rest.renewals import Renewals, is_renewal


class PylanceRequest(dict[str, Any]):
    """pylance asks for new credentials with a dictionary of its own kind."""


def renewal(*names: str) -> PylanceRequest:
    return PylanceRequest(id=list(names), vend_credentials=True)


class Server:
    """Counts what it is asked, and answers with credentials that end in so many seconds."""

    def __init__(self, seconds: float, **more: str) -> None:
        self.seconds, self.more, self.asked = seconds, {"refresh_offset_millis": "1000", **more}, list[Any]()

    def __call__(self, request: Any) -> DescribeTableResponse:
        self.asked.append(request)
        end = str(int((time.time() + self.seconds) * 1000))
        options = {"key": str(len(self.asked)), "expires_at_millis": end, **self.more}
        return DescribeTableResponse(location="s3://b/t", storage_options=options)


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (renewal("t"), True),
        ({"id": ["t"], "vend_credentials": True}, False),
        (DescribeTableRequest(id=["t"], vend_credentials=True), False),
        (PylanceRequest(id=["t"]), False),
        (PylanceRequest(id=["t"], vend_credentials=False), False),
        (PylanceRequest(id=["t"], vend_credentials=True, version=1), False),
        (PylanceRequest(id=None, vend_credentials=True), False),
    ],
)
def test_only_pylance_asks_for_credentials_alone(request_: object, expected: bool) -> None:
    assert is_renewal(request_) is expected


def test_what_was_renewed_serves_the_other_datasets_of_the_table() -> None:
    renewals, server = Renewals(), Server(60)
    answers = [renewals.renew(renewal("t"), server) for _ in range(3)]
    assert len(server.asked) == 1
    answers[0].storage_options = {}  # what one does with its answer is its own matter
    assert renewals.renew(renewal("t"), server).storage_options == answers[1].storage_options
    renewals.renew(renewal("u"), server)
    assert len(server.asked) == 2


def test_what_is_due_is_renewed_again() -> None:
    for server in (Server(0.9), Server(-1), Server(60, refresh_offset_millis="soon")):
        renewals = Renewals()
        for _ in range(3):
            renewals.renew(renewal("t"), server)
        assert len(server.asked) == 3


def test_of_many_at_once_one_asks() -> None:
    renewals, server, begin = Renewals(), Server(60), threading.Barrier(8)

    def task(_: int) -> object:
        begin.wait(10)
        return renewals.renew(renewal("t"), server).storage_options

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(task, range(8)))
    assert len(server.asked) == 1
    assert all(answer == answers[0] for answer in answers)


def test_a_refusal_is_not_remembered() -> None:
    renewals, server = Renewals(), Server(60)

    def refuse(request: Any) -> DescribeTableResponse:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        renewals.renew(renewal("t"), refuse)
    renewals.renew(renewal("t"), server)
    assert len(server.asked) == 1
