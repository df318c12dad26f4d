"""How a table is named in Python: by its path, by its name in Spark SQL, or by the options of `format("lance")`."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping

from lanceway.errors import InvalidInputError
from lanceway.identifiers import Identifier
from lanceway.writes.table_ref import Target

Named = str | os.PathLike[str] | Mapping[str, str] | Target


def target(named: Named) -> Target:
    """The table that is meant.

    A text with a slash is a path or a URI. Any other is a name such as `lake.sales.orders`, whose first part is a
    root namespace of `lanceway.toml`. A mapping has the options of `format("lance")`.
    """
    if isinstance(named, Target):
        return named
    if isinstance(named, Mapping):
        return Target.of(named)
    text = os.fspath(named)
    if "/" in text or os.sep in text:
        return Target.of({"path": text})
    names = Identifier.parse(text, ".")
    if names.depth < 2:
        raise InvalidInputError(
            f"{text!r} names no table: give its path, or its name with the root namespace that has it, such as "
            "lake.sales.orders."
        )
    return Target.of({"namespace": names[0], "table": json.dumps(list(names[1:]))})
