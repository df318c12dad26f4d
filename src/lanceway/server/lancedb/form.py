"""How LanceDB's client writes the operations that Lance REST has as well, and what it reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from lanceway.catalogs.contract.metadata import list_scope
from lanceway.catalogs.contract.requests import page_token
from lanceway.errors import InvalidInputError, UnsupportedOperationError
from lanceway.identifiers import Identifier
from lanceway.server.http.page_tokens import PageTokenSeal
from lanceway.server.lance.answers import JSON, EncodedAnswer
from lanceway.server.lance.form import WireForm
from lanceway.server.lancedb import queries, schemas
from lanceway.server.lancedb.routes import VIEWS
from lanceway.wire.lance import LanceRoute

Fields = dict[str, Any]


class LanceDbForm(WireForm):
    """Identifiers begin below the database, which is a catalog of the tree or a namespace in one."""

    def __init__(self, database: list[str], seal: PageTokenSeal) -> None:
        self._database, self._seal = database, seal

    def place(self, id_: list[str] | None) -> list[str] | None:
        return None if id_ is None else [*self._database, *id_]

    def said(self, message: str, id_: list[str] | None) -> str:
        return message  # the database is not a part of the names that the client knows

    def read(self, route: LanceRoute, fields: Fields) -> Fields:
        if route.operation == "rename_table":
            return self._rename(fields)
        if route.operation == "list_tables" and fields.get("page_token"):
            return {**fields, "page_token": self._page(fields["id"], fields["page_token"])}
        read = _READ.get(route.operation)
        return fields if read is None else read(fields)

    def write(self, route: LanceRoute, response: Any) -> EncodedAnswer:
        write = _WRITTEN.get(route.operation)
        answer = super().write(route, response)
        if write is None:
            return answer
        return EncodedAnswer(answer.status, msgspec.json.encode(write(msgspec.json.decode(answer.body))), [JSON])

    def _page(self, id_: list[str], token: str) -> str:
        """Return the token of a page of tables. `table_names` begins one after the name of a table."""
        try:
            self._seal.open("list_tables", id_, token)
        except InvalidInputError:
            return self._seal.close("list_tables", id_, page_token(list_scope(Identifier(id_[1:])), token))
        return token

    def _rename(self, fields: Fields) -> Fields:
        namespace = fields.pop("new_namespace", None)
        if namespace is None:
            return fields
        if not isinstance(namespace, list) or not all(isinstance(name, str) for name in namespace):
            raise InvalidInputError("new_namespace must be a list of names.")
        return {**fields, "new_namespace_id": [*self._database, *namespace]}


# -- requests ------------------------------------------------------------------------------------


def _describe(fields: Fields) -> Fields:
    # The client reads and writes through the server: it has no use for credentials.
    return {**fields, "load_detailed_metadata": True, "vend_credentials": False}


def _explain(fields: Fields) -> Fields:
    query = fields.get("query")
    return {**fields, "query": queries.read(query)} if isinstance(query, dict) else fields


def _index(fields: Fields) -> Fields:
    metric = fields.pop("metric_type", None)
    # The client sends neither `replace` nor a wish to keep what is there; LanceDB itself replaces.
    return {"replace": True, **({} if metric is None else {"distance_type": metric}), **fields}


def _namespace(fields: Fields) -> Fields:
    # Clients before 0.40 write these words as JSON in JSON: "\"Cascade\"".
    words = {key: fields[key].strip('"') for key in ("mode", "behavior") if isinstance(fields.get(key), str)}
    return {**fields, **words}


def _alter(fields: Fields) -> Fields:
    alterations = fields.get("alterations")
    if not isinstance(alterations, list):
        return fields
    return {**fields, "alterations": [_alteration(each) if isinstance(each, dict) else each for each in alterations]}


def _alteration(alteration: Fields) -> Fields:
    type_ = alteration.get("data_type")
    return {**alteration, "data_type": schemas.from_client(type_)} if isinstance(type_, dict) else alteration


def _view(fields: Fields) -> Fields:
    # The client writes a view as SQL; clients of Lance REST, which send the same mark, as the contract has it.
    if "query" in fields:
        raise UnsupportedOperationError(VIEWS)
    return fields


_READ: Mapping[str, Callable[[Fields], Fields]] = {
    "alter_table_alter_columns": _alter,
    "analyze_table_query_plan": queries.read,
    "create_materialized_view": _view,
    "create_namespace": _namespace,
    "create_table_index": _index,
    "describe_table": _describe,
    "drop_namespace": _namespace,
    "explain_table_query_plan": _explain,
    "query_table": queries.read,
}


# -- answers -------------------------------------------------------------------------------------


def _description(answer: Fields) -> Fields:
    # A table that is declared has neither rows nor columns yet.
    return {"version": 0, **answer, "schema": schemas.to_client(answer.get("schema") or {"fields": []})}


def _update(answer: Fields) -> Fields:
    return {**answer, "rows_updated": answer["updated_rows"]}


def _merge(answer: Fields) -> Fields:
    written = (answer.get(f"num_{what}_rows") or 0 for what in ("updated", "inserted"))
    return {**answer, "num_rows": sum(written)}


def _tags(answer: Fields) -> Fields:
    return dict(answer["tags"])


_WRITTEN: Mapping[str, Callable[[Fields], Fields]] = {
    "describe_table": _description,
    "list_table_tags": _tags,
    "merge_insert_into_table": _merge,
    "update_table": _update,
}
