"""Tags: names for versions."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import lance_namespace as ln
from lance_namespace_urllib3_client.models.tag_contents import TagContents

from lanceway.errors import TableTagAlreadyExistsError, TableTagNotFoundError, UnsupportedOperationError
from lanceway.tables.dataset import StoredTable, is_main, open_at
from lanceway.tables.errors import translated
from lanceway.tables.versions import ref_files
from lanceway.tables.versions.ref_files import TagFile

if TYPE_CHECKING:
    import lance


def list_(table: StoredTable, after: str | None) -> dict[str, TagContents]:
    """Return the tags whose names come after `after`, in the order of their names."""
    tags = _all(table, open_at(table), "list_table_tags")
    return {name: _contents(tags[name]) for name in sorted(tags) if after is None or name > after}


def _contents(tag: Any) -> TagContents:
    return TagContents(branch=tag["branch"], version=tag["version"], manifestSize=tag["manifest_size"])


def _all(table: StoredTable, dataset: lance.LanceDataset, operation: str) -> dict[str, Any]:
    with translated(table, operation):
        return dict(dataset.tags.list())


def known(table: StoredTable) -> dict[str, TagContents]:
    """Return all tags of a table: as its catalog has them where that claims versions, else as storage has them."""
    if table.client is None:
        return list_(table, None)
    by_name: dict[str, TagContents] = {}
    request = ln.ListTableTagsRequest(id=list(table.id))
    try:
        while True:
            response = table.client.list_table_tags(request)
            by_name |= response.tags
            if not response.page_token:
                return by_name
            request = request.model_copy(update={"page_token": response.page_token})
    except UnsupportedOperationError:
        return list_(table, None)


def write_missing(table: StoredTable) -> None:
    """Write the files of tags that the catalog has and storage has not: pylance's clean-up spares by them alone."""
    if table.client is None:
        return
    store = table.store()
    for name, tag in known(table).items():
        file = ref_files.tag(store, name)
        branch = "" if is_main(tag.branch) else str(tag.branch)
        if file is None or (file.branch, file.version) != (branch, tag.version):
            millis = int(time.time() * 1000)
            content = TagFile(name, branch, tag.version, tag.manifest_size).content(millis, millis)
            store.put(ref_files.tag_key(name), content)


def version(table: StoredTable, request: ln.GetTableTagVersionRequest) -> ln.GetTableTagVersionResponse:
    tag = _require(table, open_at(table), request.tag, "get_table_tag_version")
    return ln.GetTableTagVersionResponse(version=tag["version"], branch=tag["branch"])


def create(table: StoredTable, request: ln.CreateTableTagRequest) -> None:
    dataset = open_at(table)
    if request.tag in _all(table, dataset, "create_table_tag"):
        raise TableTagAlreadyExistsError(
            f"create_table_tag: {table.name} already has a tag {request.tag!r}. Move it with update_table_tag."
        )
    reference = _reference(table, request)
    with translated(table, "create_table_tag"):
        dataset.tags.create(request.tag, reference)


def update(table: StoredTable, request: ln.UpdateTableTagRequest) -> None:
    dataset = open_at(table)
    _require(table, dataset, request.tag, "update_table_tag")
    reference = _reference(table, request)
    with translated(table, "update_table_tag"):
        dataset.tags.update(request.tag, reference)


def delete(table: StoredTable, request: ln.DeleteTableTagRequest) -> None:
    dataset = open_at(table)
    _require(table, dataset, request.tag, "delete_table_tag")
    with translated(table, "delete_table_tag"):
        dataset.tags.delete(request.tag)


def _reference(
    table: StoredTable, request: ln.CreateTableTagRequest | ln.UpdateTableTagRequest
) -> tuple[str | None, int]:
    """Return the version that is to be tagged, which must be there."""
    open_at(table, version=request.version, branch=request.branch)
    return (None if is_main(request.branch) else request.branch), request.version


def _require(table: StoredTable, dataset: lance.LanceDataset, name: str, operation: str) -> Any:
    tags = _all(table, dataset, operation)
    if name not in tags:
        names = f"It has: {', '.join(sorted(tags))}." if tags else "It has none."
        raise TableTagNotFoundError(f"{operation}: {table.name} has no tag {name!r}. {names}")
    return tags[name]
