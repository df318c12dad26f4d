"""Read the feed from where a file says, one event at a time, and note each in the file when it is dealt with.

reader_program.py URI FILE MOST    after MOST events, wait to be killed; 0: read all and end
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from lanceway.lake.feed import reading
from lanceway.lake.feed.reading import START, FeedFilter, FeedPosition
from lanceway.lake.store.database import open_store

uri, file, most = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
noted = file.read_text().split() if file.exists() else []
after = FeedPosition.parse(noted[-1]) if noted else START
count = 0
with file.open("a") as notes:
    while not most or count < most:
        rows, _ = open_store(uri).snapshot(reading.page, FeedFilter("m"), after, 1)
        if not rows:
            break
        after, count = rows[0].position, count + 1
        notes.write(f"{after}\n")
        notes.flush()
if most:
    sys.stdout.write("waiting\n")
    sys.stdout.flush()
    time.sleep(600)
