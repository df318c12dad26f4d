"""Reading requests: models or dictionaries, modes in any spelling, limits, page tokens."""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from lanceway.catalogs import dictionaries
from lanceway.errors import InvalidInputError
from lanceway.identifiers import Identifier
from lanceway.tables.schema import reserved

Model = TypeVar("Model", bound=BaseModel)
Item = TypeVar("Item")

_DIGEST_BYTES = 6
# Of the keys of a query, as every client may write them.
_FORMS: Mapping[str, str] = {
    "columns": 'Write {"column_names": ["id", "name"]}',
    "full_text_query": 'Write {"string_query": {"query": "some words"}}',
    "vector": 'Write {"single_vector": [0.5, 0.9]}',
}
_LONGEST_ID = 18  # digits
_SHOWN = 100  # characters of a token in a message


def accept(model: type[Model], request: Model | Mapping[str, Any] | None) -> Model:
    """Return the request as its model. Rust clients pass dictionaries, and None means an empty one.

    A dictionary may have short forms, and warns of keys that are not known. Raises InvalidInputError, also for keys of
    metadata that are Lanceway's own.
    """
    if isinstance(request, model):
        reserved.refuse_request(request)
        return request
    fields = _fields_of(model, request)
    read = received(model, dictionaries.written_out(model, fields))
    dictionaries.warn_of_unknown_keys(model, fields)
    return read


def received(model: type[Model], fields: Mapping[str, Any]) -> Model:
    """Return the request that a client has sent, in the forms of the specification; unknown fields are ignored.

    Raises InvalidInputError, also for keys of metadata that are Lanceway's own.
    """
    try:
        read = model.model_validate(dict(fields))
    except ValidationError as error:
        raise InvalidInputError(f"{_known_name(model)} is not valid: {_reasons(error)}.") from error
    reserved.refuse_request(read)
    return read


def _known_name(model: type[BaseModel]) -> str:
    """Return the name of a model as the contract has it, of one with further fields too."""
    contract = (cls for cls in model.__mro__ if cls.__module__.startswith("lance_namespace"))
    return next(contract, model).__name__


def _fields_of(model: type[BaseModel], request: object) -> Mapping[str, Any]:
    if request is None:
        return {}
    if isinstance(request, Mapping):
        return request
    raise InvalidInputError(
        f"A {model.__name__} or a dictionary is needed here, but a {type(request).__name__} was given."
    )


def _reasons(error: ValidationError) -> str:
    # The inputs themselves stay out: they may hold credentials.
    problems = error.errors(include_url=False, include_input=False, include_context=False)
    return "; ".join(
        f"{'.'.join(str(part) for part in item['loc']) or 'request'}: {_form(item['loc'], item['type']) or item['msg']}"
        for item in problems
    )


def _form(path: Sequence[int | str], kind: str) -> str | None:
    """Return how a value that has another form is written, for those that are often written otherwise."""
    if kind == "list_type":
        return 'Write a list, such as ["id"]'
    return _FORMS.get(str(path[-1])) if kind == "model_type" and path else None


def mode(what: str, requested: str | None, *choices: str) -> str:
    """Return one of `choices` whatever its case and underscores; the first is the default."""
    if requested is None:
        return choices[0]
    spelling = {choice.replace("_", ""): choice for choice in choices}
    chosen = spelling.get(requested.replace("_", "").lower())
    if chosen is None:
        raise InvalidInputError(f"{what} is {requested!r}, but must be one of {', '.join(choices)} (in any case).")
    return chosen


def table_id(names: list[str] | None, operation: str) -> Identifier:
    """Return the identifier of a table. Raises InvalidInputError for the root."""
    identifier = Identifier(names or ())
    if identifier.is_root:
        raise InvalidInputError(f"{operation} needs a table's identifier, but none was given (id is empty).")
    return identifier


# A list goes on with its next page, so a larger one is no error.
LARGEST_PAGE = 1_000_000


def page_limit(limit: int | None) -> int | None:
    """Return the size of a page, None for all. Raises InvalidInputError for one below 1."""
    if limit is not None and limit < 1:
        raise InvalidInputError(f"limit is {limit}, but a page holds at least 1. Leave limit out for all.")
    return None if limit is None else min(limit, LARGEST_PAGE)


def page_token(scope: str, after: str) -> str:
    """Return a token for the page that follows `after` in the list that `scope` names.

    Its digest tells tokens of other lists apart, and keeps no one from making one: who has the catalog itself may begin
    anywhere. A server seals it for its clients (`server.http.page_tokens`).
    """
    return base64.urlsafe_b64encode(_digest(scope, after) + after.encode()).decode().rstrip("=")


def page_start(scope: str, token: str | None) -> str | None:
    """Return what the page begins after, or None for the first page. A token of another list is refused."""
    if not token:
        return None
    try:
        raw = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
        digest, after = raw[:_DIGEST_BYTES], raw[_DIGEST_BYTES:].decode()
    except (binascii.Error, ValueError):  # ValueError: the token, or the name in it, is not valid text
        digest, after = b"", ""
    if not after or digest != _digest(scope, after):
        raise foreign_page_token(token)
    return after


def foreign_page_token(token: str) -> InvalidInputError:
    """Return the error for a page token that is damaged, or of another list."""
    return InvalidInputError(
        f"The page token {token[:_SHOWN]!r} does not belong to this list. Leave page_token out to begin again, "
        "or pass the page_token of the previous response."
    )


def page_start_id(scope: str, token: str | None) -> int | None:
    """Return the number that a page begins after, for a list ordered by numbers such as the ids of rows."""
    start = page_start(scope, token)
    if start is None:
        return None
    if not (start.isascii() and start.isdigit() and len(start) <= _LONGEST_ID):
        raise foreign_page_token(str(token))
    return int(start)


def page_of(
    items: Sequence[Item], limit: int | None, scope: str, key: Callable[[Item], str]
) -> tuple[list[Item], str | None]:
    """Return the first `limit` of `items`, and the token of the next page, if there is one."""
    if limit is None or len(items) <= limit:
        return list(items), None
    return list(items[:limit]), page_token(scope, key(items[limit - 1]))


def _digest(scope: str, after: str) -> bytes:
    return hashlib.blake2b(f"{scope}\x00{after}".encode(), digest_size=_DIGEST_BYTES).digest()
