"""The other end of a channel: what the bridge reads."""

from __future__ import annotations

import socket

from lanceway.spark.read import scan


def connect(told: bytes) -> socket.socket:
    assert told.startswith(scan.PREFIX)
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(told.removeprefix(scan.PREFIX).decode())
    return connection


def received(told: bytes) -> bytes:
    with connect(told) as connection, connection.makefile("rb") as stream:
        return stream.read()
