"""Limits of a request that are not settings: sizes and times."""

from __future__ import annotations

# A body of JSON is held whole, so it has a bound of its own below `max_body_bytes`.
JSON_BODY_BYTES = 64 * 2**20
# The buffer between a client that sends and a catalog that reads.
UPLOAD_BUFFER_BYTES = 8 * 2**20
# A client that is silent for so long in the middle of its body has gone, whatever its connection says.
SILENCE_SECONDS = 60.0
# An answer up to this size is sent with its length; a longer one in chunks, as it is made.
WHOLE_ANSWER_BYTES = 256 * 2**10
# Of a longer one so much goes from the thread that makes it to the event loop at a time, or what there is by then.
HAND_OVER_BYTES = 2**20
HAND_OVER_SECONDS = 0.05
# The network is given pieces of this size.
PIECE_BYTES = 256 * 2**10
# Rows as JSON are for people and browsers.
JSON_ROWS = 10_000
JSON_ROWS_BYTES = 16 * 2**20
# For a client that should try again.
RETRY_AFTER_SECONDS = 1
# How long a stopping server waits for what it has begun.
GRACE_SECONDS = 30
# How long `/ready` waits for the database.
READY_SECONDS = 3.0
