"""Iceberg's own Java client, unchanged: the same steps on its reference server and on ours, with the same results."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.servers.iceberg import Iceberg
from tests.servers.jvm import CLIENT
from tests.servers.lanceway import Lanceway

STEPS = Path(__file__).with_name("java_steps.txt").read_text().splitlines()


def steps(*arguments: str) -> list[str]:
    done = subprocess.run(CLIENT.command(*arguments), capture_output=True, text=True, check=False, timeout=240)
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout.splitlines()


def test_the_reference_server_takes_every_step(iceberg: Iceberg) -> None:
    assert steps(iceberg.endpoint, iceberg.warehouse) == STEPS


def test_lanceway_takes_every_step(server: Lanceway) -> None:
    assert steps(f"{server.address}/iceberg", "lake", server.token) == STEPS
