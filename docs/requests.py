"""The keys of every operation's request as a page: `python docs/requests.py > docs/reference/requests.md`."""

from __future__ import annotations

import re
import sys
import typing
from collections.abc import Iterator, Mapping
from typing import Any

from lance_namespace import LanceNamespace
from pydantic import BaseModel

OPENING = """\
# Requests: the keys of every operation

<!-- Made from the contract's models by docs/requests.py; a test compares the two. -->

Every operation of the contract takes one request: a dictionary with these keys, or the model that is named. `id` is the
list of names that leads to the table or namespace; a text with dots is taken too. Operations that take rows have them
as their second argument, and a twin with `_stream` that takes Arrow readers. [Tables](../guide/tables.md) shows the
operations at work, and [what each catalog supports](support.md) which of them there are.

Every request may also have `context`: texts by their names. A server passes on those that `forwarded_headers` names.
`identity` is dropped: clients sign in by a header.
"""
# Of every request, and explained above.
_EVERYWHERE = {"id", "identity", "context"}
# What the contract's models leave without a word.
_MEANINGS = {
    "columns": "Columns to return: a list of names, or expressions by the names that they get.",
    "full_text_query": "Words to search for in columns with an FTS index: a text, or a structured query.",
    "vector": "The vector to search with: a list of numbers, or several of them.",
    "query": "The query to explain: the keys of `query_table`.",
    "actions": "What to do with the transaction, in this order.",
    "location": "Where the table is: a URI or a path, relative to the catalog's own.",
    "udtf_spec": "The table function that computes the view's rows.",
    "mode": "What happens if it exists, or does not: see the guide.",
    "behavior": "What happens to what is inside.",
}
_KINDS = {"string": "text", "boolean": "true or false", "integer": "a whole number", "number": "a number"}


def page() -> str:
    return "\n".join([OPENING, *(line for name in operations() for line in _section(name))])


def operations() -> list[str]:
    """Return the operations of the contract, by their names."""
    return sorted(
        name
        for name, function in vars(LanceNamespace).items()
        if not name.startswith("_") and "request" in typing.get_type_hints(function)
    )


def _section(operation: str) -> Iterator[str]:
    model: type[BaseModel] = typing.get_type_hints(getattr(LanceNamespace, operation))["request"]
    schema = model.model_json_schema()
    required = set(schema.get("required", ()))
    rows = {key: value for key, value in schema["properties"].items() if key not in _EVERYWHERE}
    yield from (f"## {operation}", "", f"`{model.__name__}`" + ("" if rows else ": no keys of its own."), "")
    if rows:
        yield from ("| key | meaning | values |", "|---|---|---|")
        for key, value in sorted(rows.items(), key=lambda row: row[0] not in required):
            kind = _kind(value, schema.get("$defs", {}))
            yield f"| `{key}` | {_meaning(key, value)} | {'required: ' if key in required else ''}{kind} |"
        yield ""


def _meaning(key: str, value: Mapping[str, Any]) -> str:
    """Return the first sentence of what the contract says of a key."""
    text = " ".join(str(value.get("description") or "").split())
    text = re.sub(r"\.? - (?=`)", "; ", text)  # a list, whose lines a cell cannot have
    sentence = re.split(r"(?<=[.!?])(?<!e\.g\.)\s+(?=[A-Z])", text)[0] or _MEANINGS.get(key, "")
    return sentence.replace("|", "\\|").replace("<", "&lt;")


def _kind(value: Mapping[str, Any], definitions: Mapping[str, Any]) -> str:
    for choice in value.get("anyOf", ()):
        if choice.get("type") != "null":
            return _kind(choice, definitions)
    if "$ref" in value:
        definition = definitions[value["$ref"].rpartition("/")[2]]
        keys = ", ".join(f"`{key}`" for key in definition.get("properties", ()) if key not in _EVERYWHERE)
        return f"a dictionary with {keys}" if keys and "actual_instance" not in keys else "see the guide"
    if value.get("type") == "array":
        items = _kind(value.get("items", {}), definitions)
        return f"a list: {items}"
    if value.get("type") == "object":
        return "a dictionary"
    return _KINDS.get(str(value.get("type")), "any value")


if __name__ == "__main__":
    sys.stdout.write(page())
