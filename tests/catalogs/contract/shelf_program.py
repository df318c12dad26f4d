"""The catalog that the guide on writing one shows, as a module, so that other processes can use it too."""

from __future__ import annotations

import re
from typing import Any

from tests.paths import REPOSITORY

PAGE = REPOSITORY / "docs" / "guide" / "catalogs.md"
(SHOWN,) = [
    text for text in re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.M | re.S) if "class Shelf" in text
]
ShelfCatalog: Any

exec(compile(SHOWN, str(PAGE), "exec"), globals())
