"""Bodies of requests of Gravitino REST, as a server reads them."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct, field

Properties = dict[str, str]


class CatalogCreateRequest(Struct):
    """A catalog to make, or to try."""

    name: str
    type: str | None = None
    provider: str | None = None
    comment: str | None = None
    properties: Properties | None = None


class SchemaCreateRequest(Struct):
    """A schema to make, by its logical name, with what is missing above it."""

    name: str
    comment: str | None = None
    properties: Properties | None = None


class UpdateRequest(Struct):
    """One change of an object. Which of the fields it has depends on its type."""

    kind: str = field(name="@type")
    property: str | None = None
    value: str | None = None
    new_name: str | None = field(name="newName", default=None)
    new_schema: str | None = field(name="newSchemaName", default=None)
    new_comment: str | None = field(name="newComment", default=None)
    column: list[str] | None = field(name="fieldName", default=None)
    old_column: list[str] | None = field(name="oldFieldName", default=None)
    new_column: str | None = field(name="newFieldName", default=None)
    type: Any = None
    new_type: Any = field(name="newType", default=None)
    comment: str | None = None
    position: Any = None
    nullable: bool | None = None
    auto_increment: bool | None = field(name="autoIncrement", default=None)
    default: Any = field(name="defaultValue", default=None)
    if_exists: bool | None = field(name="ifExists", default=None)


class UpdatesRequest(Struct):
    """Changes that are made together, or not at all."""

    updates: Annotated[list[UpdateRequest], Meta(min_length=1, max_length=1000)]


class CatalogSetRequest(Struct):
    """Whether a catalog can be used."""

    in_use: bool = field(name="inUse")


class GravitinoColumn(Struct):
    """A column of a table. Its type is a text such as `long`, or an object for a nested one."""

    name: Annotated[str, Meta(min_length=1)]
    type: Any
    comment: str | None = None
    nullable: bool = True
    auto_increment: bool = field(name="autoIncrement", default=False)
    default: Any = field(name="defaultValue", default=None)


class TableCreateRequest(Struct):
    """A table to make."""

    name: str
    columns: list[GravitinoColumn] | None = None
    comment: str | None = None
    properties: Properties | None = None
    partitioning: list[Any] | None = None
    distribution: dict[str, Any] | None = None
    sort_orders: list[Any] | None = field(name="sortOrders", default=None)
    indexes: list[Any] | None = None


class NameAddRequest(Struct):
    """A user or a group to add."""

    name: str


class GravitinoPrivilege(Struct):
    """A privilege that is granted (allow) or denied (deny)."""

    name: str
    condition: str = "allow"


class GravitinoSecurable(Struct):
    """An object with the privileges that a role has on it."""

    full_name: str = field(name="fullName")
    type: str
    privileges: Annotated[list[GravitinoPrivilege], Meta(max_length=100)]


class RoleCreateRequest(Struct):
    """A role to make, with what it is granted."""

    name: str
    properties: Properties | None = None
    objects: Annotated[list[GravitinoSecurable], Meta(max_length=100)] = field(
        name="securableObjects", default_factory=list
    )


class RoleNamesRequest(Struct):
    """Roles that are given or taken."""

    names: Annotated[list[str], Meta(min_length=1, max_length=100)] = field(name="roleNames")


class PrivilegesRequest(Struct):
    """Privileges that a role is granted or loses."""

    privileges: Annotated[list[GravitinoPrivilege], Meta(min_length=1, max_length=100)]


class PrivilegeOverrideRequest(Struct):
    """All that a role is to be granted from now on."""

    overrides: Annotated[list[GravitinoSecurable], Meta(max_length=100)]


class OwnerSetRequest(Struct):
    """The owner that an object is given."""

    name: str
    type: str
