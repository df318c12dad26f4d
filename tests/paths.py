"""Where the parts of the checkout are, for tests that read or run them."""

from __future__ import annotations

from pathlib import Path

REPOSITORY = Path(__file__).parents[1]
