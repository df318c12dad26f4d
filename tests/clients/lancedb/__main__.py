"""Print the page of all methods: `python -m tests.clients.lancedb > docs/reference/lancedb.md`."""

from __future__ import annotations

import sys

from tests.clients.lancedb.page import page
from tests.servers import lanceway
from tests.servers.run import Run

run = Run.begin()
try:
    server = lanceway.start(run, arguments=("--no-worker",))
    sys.stdout.write(page(server))
    server.stop()
finally:
    run.end()
