"""Branches: lines of versions beside the main one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lance_namespace import CreateTableBranchRequest, DeleteTableBranchRequest
from lance_namespace_urllib3_client.models.branch_contents import BranchContents

from lanceway.errors import InvalidInputError, TableBranchAlreadyExistsError
from lanceway.tables.dataset import MAIN, StoredTable, open_at, require_branch
from lanceway.tables.errors import translated
from lanceway.tables.versions import manifests

if TYPE_CHECKING:
    from lance.dataset import Branch


def list_(table: StoredTable, after: str | None) -> dict[str, BranchContents]:
    """Return the branches whose names come after `after`, in the order of their names; main is none of them."""
    dataset = open_at(table)
    with translated(table, "list_table_branches"):
        listed = dataset.branches.list()
    return {name: _contents(listed[name]) for name in sorted(listed) if after is None or name > after}


def _contents(branch: Branch) -> BranchContents:
    return BranchContents(
        parentBranch=branch["parent_branch"],
        parentVersion=branch["parent_version"],
        createAt=branch["create_at"],
        manifestSize=branch["manifest_size"],
        metadata=branch["metadata"],
    )


def create(table: StoredTable, request: CreateTableBranchRequest) -> None:
    refuse_main(request.name, "create_table_branch")
    manifests.check_branch(request.name)
    source = open_at(table, branch=request.from_branch, version=request.from_version)
    with translated(table, "create_table_branch"):
        # pylance answers a second creation with an internal error, so it is looked for here.
        if request.name in source.branches.list():
            raise TableBranchAlreadyExistsError(
                f"create_table_branch: {table.name} already has a branch {request.name!r}. Choose another name."
            )
        source.create_branch(request.name, (request.from_branch or MAIN, source.version))


def delete(table: StoredTable, request: DeleteTableBranchRequest) -> None:
    refuse_main(request.name, "delete_table_branch")
    dataset = open_at(table)
    require_branch(table, dataset, request.name)
    with translated(table, "delete_table_branch"):
        dataset.branches.delete(request.name)


def refuse_main(name: str, operation: str) -> None:
    """Refuse to make or to delete the main branch."""
    if name == MAIN:
        raise InvalidInputError(f"{operation}: {MAIN!r} is the branch that every table has; choose another name.")
