"""The stock Gravitino client at work, as it comes from PyPI: run in its own environment, without the suite.

It reads {"uri", "tokens": {user: token}, "guide": the example of the guide, "folder", "simple": the address of a server
that believes names}, and writes the traceback of each
scenario that failed, null for one that did not.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Callable
from typing import Any

from gravitino.api.authorization.owner import Owner
from gravitino.api.authorization.privileges import Privileges
from gravitino.api.authorization.securable_objects import SecurableObjects
from gravitino.api.catalog import Catalog
from gravitino.api.catalog_change import CatalogChange
from gravitino.api.metadata_object import MetadataObject
from gravitino.api.metadata_objects import MetadataObjects
from gravitino.api.rel.column import Column
from gravitino.api.rel.table_change import TableChange
from gravitino.api.rel.types.types import Types
from gravitino.api.schema_change import SchemaChange
from gravitino.auth.auth_data_provider import AuthDataProvider
from gravitino.auth.basic_auth_provider import BasicAuthProvider
from gravitino.auth.default_oauth2_token_provider import DefaultOAuth2TokenProvider
from gravitino.auth.simple_auth_provider import SimpleAuthProvider
from gravitino.exceptions.base import (
    CatalogAlreadyExistsException,
    CatalogNotInUseException,
    ConnectionFailedException,
    ForbiddenException,
    IllegalArgumentException,
    NonEmptySchemaException,
    NoSuchCatalogException,
    NoSuchMetadataObjectException,
    NoSuchMetalakeException,
    NoSuchRoleException,
    NoSuchSchemaException,
    NoSuchTableException,
    NoSuchUserException,
    RESTException,
    RoleAlreadyExistsException,
    SchemaAlreadyExistsException,
    TableAlreadyExistsException,
    UnsupportedOperationException,
    UserAlreadyExistsException,
)
from gravitino.name_identifier import NameIdentifier
from gravitino.namespace import Namespace

from gravitino import GravitinoAdminClient, GravitinoClient

METALAKE = "lanceway"


class BearerProvider(AuthDataProvider):  # type: ignore[misc]
    """A token of the server, as it is."""

    def __init__(self, token: str) -> None:
        self._token = token

    def has_token_data(self) -> bool:
        return True

    def get_token_data(self) -> bytes:
        return f"Bearer {self._token}".encode()

    def close(self) -> None: ...


class Site:
    """A server, and a client for each of its users."""

    def __init__(self, uri: str, tokens: dict[str, str], guide: str, folder: str, simple: str) -> None:
        self.uri, self.tokens, self.guide, self.folder, self.simple = uri, tokens, guide, folder, simple

    def client(self, user: str) -> Any:
        return GravitinoClient(self.uri, METALAKE, auth_data_provider=BearerProvider(self.tokens[user]))

    def lake(self, user: str, name: str = "lake") -> Any:
        return self.client(user).load_catalog(name)


def refused(error: type[BaseException], call: Callable[..., Any], *arguments: Any) -> str:
    try:
        call(*arguments)
    except error as refusal:
        return str(refusal)
    raise AssertionError(f"{call} was not refused with {error.__name__}")


def signing_in(site: Site) -> None:
    client = GravitinoClient(site.uri, METALAKE, auth_data_provider=BasicAuthProvider("bob", site.tokens["bob"]))
    assert client.get_metalake().name() == METALAKE
    client.close()
    client = site.client("admin")
    assert client.get_server_version().version() == "1.3.1"
    client.check_version()
    client.close()
    provider = DefaultOAuth2TokenProvider(
        uri=site.uri, credential=f"bob:{site.tokens['bob']}", path="lanceway/v1/oauth/tokens", scope="catalog"
    )
    client = GravitinoClient(site.uri, METALAKE, auth_data_provider=provider)
    assert client.get_metalake().name() == METALAKE
    client.close()
    # A token counts for the user it belongs to alone.
    other = BasicAuthProvider("admin", site.tokens["bob"])
    assert "bob" not in refused(RESTException, lambda: GravitinoClient(site.uri, METALAKE, auth_data_provider=other))


def simple_authentication(site: Site) -> None:
    """A name without proof, where it is switched on and nowhere else."""
    new = ("mine", Catalog.Type.RELATIONAL, "lakehouse-generic", "", {})
    os.environ["GRAVITINO_USER"] = "bob"
    client = GravitinoClient(site.simple, METALAKE, auth_data_provider=SimpleAuthProvider())
    assert client.get_metalake().name() == METALAKE
    refused(ForbiddenException, client.create_catalog, *new)
    client.close()
    os.environ["GRAVITINO_USER"] = "admin"
    client = GravitinoClient(site.simple, METALAKE, auth_data_provider=SimpleAuthProvider())
    assert client.create_catalog(*new).audit_info().creator() == "admin"
    client.close()
    refused(RESTException, lambda: GravitinoClient(site.uri, METALAKE, auth_data_provider=SimpleAuthProvider()))


def guide(site: Site) -> None:
    """Run what the guide shows."""
    shown = site.guide.replace("http://localhost:8400", site.uri).replace("ada", "admin")
    exec(shown.replace("lw_…", site.tokens["admin"]), {})
    assert site.lake("admin").as_schemas().load_schema("team:sales").comment() == "what is sold"


def metalakes(site: Site) -> None:
    admin = GravitinoAdminClient(site.uri, auth_data_provider=BearerProvider(site.tokens["admin"]))
    assert [each.name() for each in admin.list_metalakes()] == [METALAKE]
    assert admin.load_metalake(METALAKE).name() == METALAKE
    refused(NoSuchMetalakeException, admin.load_metalake, "other")
    refused(UnsupportedOperationException, admin.create_metalake, "other", "", {})
    refused(UnsupportedOperationException, admin.drop_metalake, METALAKE, True)
    client = site.client("admin")
    refused(UnsupportedOperationException, client.list_tags)
    refused(UnsupportedOperationException, client.list_jobs)
    client.close()


def catalogs(site: Site) -> None:
    client = site.client("admin")
    assert "lake" in client.list_catalogs()
    assert "lake" in [each.name() for each in client.list_catalogs_info()]
    lake = client.load_catalog("lake")
    assert (lake.type(), lake.provider()) == (Catalog.Type.RELATIONAL, "lakehouse-generic")
    made = client.create_catalog("own", Catalog.Type.RELATIONAL, "lakehouse-generic", "mine", {"team": "a"})
    assert (made.name(), made.comment(), made.properties()["team"]) == ("own", "mine", "a")
    refused(
        CatalogAlreadyExistsException,
        client.create_catalog,
        "own",
        Catalog.Type.RELATIONAL,
        "lakehouse-generic",
        "",
        {},
    )
    refused(UnsupportedOperationException, client.create_catalog, "h", Catalog.Type.RELATIONAL, "jdbc-mysql", "", {})
    changed = client.alter_catalog("own", CatalogChange.set_property("team", "b"), CatalogChange.update_comment("ours"))
    assert (changed.properties()["team"], changed.comment()) == ("b", "ours")
    client.test_connection("own")
    client.enable_catalog("own")
    client.load_catalog("own").as_schemas().create_schema("inside", "", {})
    refused(Exception, client.drop_catalog, "own")
    client.load_catalog("own").as_schemas().drop_schema("inside", False)
    assert client.drop_catalog("own")
    refused(NoSuchCatalogException, client.load_catalog, "own")
    flat = client.create_catalog("flat", Catalog.Type.RELATIONAL, "lakehouse-generic", "", {"nested": "false"})
    assert flat.properties()["nested"] == "false"
    refused(IllegalArgumentException, flat.as_schemas().create_schema, "A:B", "", {})
    refused(UnsupportedOperationException, flat.as_schemas().list_schemas, "A")
    assert client.alter_catalog("flat", CatalogChange.set_property("nested", "true")).properties()["nested"] == "true"
    client.load_catalog("flat").as_schemas().create_schema("A:B", "", {})
    assert client.load_catalog("flat").as_schemas().list_schemas("A") == ["A:B"]
    refused(IllegalArgumentException, client.alter_catalog, "flat", CatalogChange.set_property("nested", "false"))
    client.close()


def mounted_catalogs(site: Site) -> None:
    """A folder becomes a branch of the tree, whose provider is a type of catalog of Lanceway's."""
    client = site.client("admin")
    settings = {"path": site.folder, "layout": "manifest"}
    made = client.create_catalog("folder", Catalog.Type.RELATIONAL, "dir", "a folder", settings)
    assert (made.provider(), made.comment(), made.properties()["path"]) == ("dir", "a folder", site.folder)
    assert "folder" in client.list_catalogs()
    made.as_schemas().create_schema("inside", "", {})
    assert made.as_schemas().list_schemas() == ["inside"]
    client.test_connection("folder")
    client.disable_catalog("folder")
    refused(CatalogNotInUseException, made.as_schemas().list_schemas)
    assert client.load_catalog("folder").properties()["in-use"] == "false"
    client.enable_catalog("folder")
    assert client.alter_catalog("folder", CatalogChange.rename("renamed")).name() == "renamed"
    renamed = client.load_catalog("renamed").as_schemas()
    assert renamed.list_schemas() == ["inside"]
    secret = {"uri": "http://127.0.0.1:9/lance", "token": "s3cret-of-this-test"}
    unreachable = refused(
        ConnectionFailedException, client.create_catalog, "dead", Catalog.Type.RELATIONAL, "rest", "", secret
    )
    assert "s3cret-of-this-test" not in unreachable
    assert "dead" not in client.list_catalogs()
    unknown = refused(
        IllegalArgumentException, client.create_catalog, "odd", Catalog.Type.RELATIONAL, "dir", "", {"pth": "x"}
    )
    assert "path" in unknown
    assert client.drop_catalog("renamed")
    refused(NoSuchCatalogException, client.load_catalog, "renamed")
    client.close()
    other = site.client("bob")
    refused(ForbiddenException, other.create_catalog, "own", Catalog.Type.RELATIONAL, "dir", "", settings)
    other.close()


def nested_schemas(site: Site) -> None:
    schemas = site.lake("admin").as_schemas()
    made = schemas.create_schema("A:B:C", "deep", {"k": "v"})
    assert (made.name(), made.comment(), made.properties()) == ("A:B:C", "deep", {"k": "v"})
    schemas.create_schema("B", "", {})
    assert {"A", "B"} <= set(schemas.list_schemas())
    assert "A:B" not in schemas.list_schemas()
    assert schemas.list_schemas("A") == ["A:B"]
    assert schemas.list_schemas("A:B") == ["A:B:C"]
    assert schemas.list_schemas("A:B:C") == []
    refused(NoSuchSchemaException, schemas.list_schemas, "A:none")
    loaded = schemas.load_schema("A:B:C")
    assert (loaded.comment(), loaded.properties(), loaded.audit_info().creator()) == ("deep", {"k": "v"}, "admin")
    assert (schemas.load_schema("A:B").comment(), schemas.load_schema("A:B").properties()) == (None, {})
    assert schemas.schema_exists("A:B")
    assert not schemas.schema_exists("A:C")
    changed = schemas.alter_schema("A:B:C", SchemaChange.set_property("x", "1"), SchemaChange.remove_property("k"))
    assert changed.properties() == {"x": "1"}
    assert schemas.load_schema("A:B").properties() == {}
    refused(SchemaAlreadyExistsException, schemas.create_schema, "A:B:C", "", {})
    refused(NonEmptySchemaException, schemas.drop_schema, "A:B", False)
    message = refused(UnsupportedOperationException, schemas.drop_schema, "A:B", True)
    assert "cascade" in message
    assert schemas.schema_exists("A:B:C")
    assert schemas.drop_schema("A:B:C", False)
    assert not schemas.drop_schema("A:B:C", False)
    assert schemas.schema_exists("A:B")
    refused(IllegalArgumentException, schemas.create_schema, "A::B", "", {})
    refused(IllegalArgumentException, schemas.create_schema, "A:B:", "", {})
    refused(IllegalArgumentException, schemas.create_schema, "50%", "", {})
    refused(IllegalArgumentException, schemas.list_schemas, "A::B")


COLUMNS = [
    Column.of("id", Types.LongType.get(), "the key", nullable=False),
    Column.of("name", Types.StringType.get()),
    Column.of("price", Types.DecimalType.of(10, 2)),
    Column.of("at", Types.TimestampType.with_time_zone(6)),
    Column.of("tags", Types.ListType.of(Types.StringType.get(), True)),
    Column.of("place", Types.StructType.of(Types.StructType.Field("x", Types.DoubleType.get(), True, ""))),
]


def tables(site: Site) -> None:
    lake = site.lake("admin")
    lake.as_schemas().create_schema("shop:fruit", "", {})
    tables_, name = lake.as_table_catalog(), NameIdentifier.of("shop:fruit", "orders")
    made = tables_.create_table(name, COLUMNS, "orders of fruit", {"team": "a"})
    assert (made.name(), made.comment()) == ("orders", "orders of fruit")
    loaded = tables_.load_table(name)
    assert [(each.name(), each.data_type(), each.nullable()) for each in loaded.columns()] == [
        (each.name(), each.data_type(), each.nullable()) for each in COLUMNS
    ]
    assert loaded.columns()[0].comment() == "the key"
    properties = loaded.properties()
    assert (properties["format"], properties["team"], properties["lance.version"]) == ("lance", "a", "1")
    assert properties["location"]
    assert loaded.audit_info().creator() == "admin"
    assert tables_.list_tables(Namespace.of("shop:fruit")) == [name]
    assert tables_.table_exists(name)
    refused(TableAlreadyExistsException, tables_.create_table, name, COLUMNS)
    changed = tables_.alter_table(
        name, TableChange.set_property("team", "b"), TableChange.update_comment("all of them")
    )
    assert (changed.properties()["team"], changed.comment()) == ("b", "all of them")
    assert "team" not in tables_.alter_table(name, TableChange.remove_property("team")).properties()
    last = TableChange.ColumnPosition.default_pos()  # without one, the client cannot write its request
    changed = tables_.alter_table(name, TableChange.add_column(["weight"], Types.DoubleType.get(), None, last))
    assert changed.columns()[-1].data_type() == Types.DoubleType.get()
    changed = tables_.alter_table(name, TableChange.rename_column(["weight"], "mass"))
    assert changed.columns()[-1].name() == "mass"
    changed = tables_.alter_table(name, TableChange.update_column_comment(["mass"], "in kilograms"))
    assert changed.columns()[-1].comment() == "in kilograms"
    changed = tables_.alter_table(name, TableChange.update_column_type(["mass"], Types.FloatType.get()))
    assert changed.columns()[-1].data_type() == Types.FloatType.get()
    changed = tables_.alter_table(name, TableChange.delete_column(["mass"], False))
    assert len(changed.columns()) == len(COLUMNS)
    both = TableChange.set_property("a", "b"), TableChange.delete_column(["name"], False)
    refused(IllegalArgumentException, tables_.alter_table, name, *both)
    renamed = NameIdentifier.of("shop:fruit", "sales")
    assert tables_.alter_table(name, TableChange.rename("sales")).name() == "sales"
    refused(NoSuchTableException, tables_.load_table, name)
    moved = NameIdentifier.of("shop", "sales")
    tables_.alter_table(renamed, TableChange.rename("sales", "shop"))
    refused(NonEmptySchemaException, lake.as_schemas().drop_schema, "shop", False)
    assert tables_.drop_table(moved)
    assert not tables_.drop_table(moved)
    tables_.create_table(name, COLUMNS)
    assert tables_.purge_table(name)
    refused(NoSuchSchemaException, tables_.list_tables, Namespace.of("shop:none"))
    external = Types.ExternalType.of(
        '{"name": "v", "nullable": true, "type": {"name": "fixedsizelist", "listSize": 2}, "children": [{"name": '
        '"item", "nullable": true, "type": {"name": "floatingpoint", "precision": "SINGLE"}, "children": []}]}'
    )
    vectors = tables_.create_table(name, [Column.of("v", external)])
    assert json.loads(vectors.columns()[0].data_type().catalog_string())["type"]["listSize"] == 2
    refused(IllegalArgumentException, tables_.create_table, moved, [Column.of("u", Types.UUIDType.get())])


def people(site: Site) -> None:
    client = site.client("admin")
    assert client.add_user("carol").name() == "carol"
    refused(UserAlreadyExistsException, client.add_user, "carol")
    assert client.get_user("carol").roles() == []
    assert "carol" in client.list_user_names()
    assert "carol" in [each.name() for each in client.list_users()]
    assert client.add_group("staff").name() == "staff"
    assert "staff" in client.list_group_names()
    assert "staff" in [each.name() for each in client.list_groups()]
    assert client.get_group("staff").name() == "staff"
    use = SecurableObjects.of_catalog("lake", [Privileges.allow("USE_CATALOG")])
    role = client.create_role("readers", {}, [use])
    assert role.name() == "readers"
    refused(RoleAlreadyExistsException, client.create_role, "readers", {}, [])
    assert "readers" in client.list_role_names()
    assert client.grant_roles_to_user(["readers"], "carol").roles() == ["readers"]
    assert client.grant_roles_to_group(["readers"], "staff").roles() == ["readers"]
    assert client.get_user("carol").roles() == ["readers"]
    assert client.revoke_roles_from_user(["readers"], "carol").roles() == []
    assert client.revoke_roles_from_group(["readers"], "staff").roles() == []
    refused(NoSuchRoleException, client.grant_roles_to_user, ["none"], "carol")
    refused(NoSuchUserException, client.grant_roles_to_user, ["readers"], "none")
    assert client.delete_role("readers")
    assert not client.delete_role("readers")
    assert client.remove_group("staff")
    assert not client.remove_group("staff")
    assert client.remove_user("carol")
    assert not client.remove_user("carol")
    refused(NoSuchUserException, client.get_user, "carol")
    refused(ForbiddenException, site.client("bob").list_users)
    assert site.client("bob").get_user("bob").name() == "bob"
    client.close()


def _object(name: str, type_: MetadataObject.Type) -> MetadataObject:
    return MetadataObjects.parse(name, type_)


def grants_and_denials(site: Site) -> None:
    admin = site.client("admin")
    schemas = admin.load_catalog("lake").as_schemas()
    schemas.create_schema("G:H:I", "", {})
    schemas.create_schema("G:H:J", "", {})
    refused(ForbiddenException, site.lake, "bob")
    catalog, schema = MetadataObject.Type.CATALOG, MetadataObject.Type.SCHEMA
    on_catalog = SecurableObjects.of_catalog("lake", [Privileges.allow("USE_CATALOG")])
    on_h = SecurableObjects.of_schema(on_catalog, "G:H", [Privileges.allow("USE_SCHEMA")])
    role = admin.create_role("bobs", {"comment": "of bob"}, [on_catalog, on_h])
    assert [each.full_name() for each in role.securable_objects()] == ["lake", "lake.G:H"]
    assert admin.grant_roles_to_user(["bobs"], "bob").roles() == ["bobs"]
    bobs = site.lake("bob").as_schemas()
    # What leads to a schema is listed by its name, and cannot be loaded.
    assert "G" in bobs.list_schemas()
    assert bobs.list_schemas("G") == ["G:H"]
    refused(ForbiddenException, bobs.load_schema, "G")
    assert bobs.list_schemas("G:H") == ["G:H:I", "G:H:J"]
    assert bobs.load_schema("G:H:I").name() == "G:H:I"
    refused(ForbiddenException, bobs.create_schema, "G:H:K", "", {})
    admin.grant_privileges_to_role("bobs", _object("lake.G:H", schema), [Privileges.allow("CREATE_SCHEMA")])
    assert bobs.create_schema("G:H:K:L", "", {}).name() == "G:H:K:L"
    assert admin.get_owner(_object("lake.G:H:K", schema)).name() == "bob"
    refused(ForbiddenException, bobs.create_schema, "Other", "", {})
    admin.grant_privileges_to_role("bobs", _object("lake.G:H:I", schema), [Privileges.deny("USE_SCHEMA")])
    refused(ForbiddenException, bobs.load_schema, "G:H:I")
    assert bobs.list_schemas("G:H") == ["G:H:J", "G:H:K"]
    loaded = {each.full_name(): each.privileges() for each in admin.get_role("bobs").securable_objects()}
    assert {"lake", "lake.G:H", "lake.G:H:I"} == set(loaded)
    assert loaded["lake.G:H:I"] == [Privileges.deny("USE_SCHEMA")]
    admin.revoke_privileges_from_role("bobs", _object("lake.G:H:I", schema), [Privileges.deny("USE_SCHEMA")])
    assert bobs.load_schema("G:H:I").name() == "G:H:I"
    refused(
        ForbiddenException,
        site.client("bob").grant_privileges_to_role,
        "bobs",
        _object("lake", catalog),
        [Privileges.allow("CREATE_SCHEMA")],
    )
    refused(
        NoSuchMetadataObjectException,
        admin.grant_privileges_to_role,
        "bobs",
        _object("lake.no", schema),
        [Privileges.allow("USE_SCHEMA")],
    )
    refused(
        IllegalArgumentException,
        admin.grant_privileges_to_role,
        "bobs",
        _object("lake.G", schema),
        [Privileges.allow("USE_CATALOG")],
    )
    # A table in a nested schema: a grant above it counts, and its owner needs none.
    table = NameIdentifier.of("G:H:J", "t")
    admin.load_catalog("lake").as_table_catalog().create_table(table, COLUMNS)
    tables_ = site.lake("bob").as_table_catalog()
    assert tables_.list_tables(Namespace.of("G:H:J")) == []
    refused(ForbiddenException, tables_.load_table, table)
    on_table = _object("lake.G:H:J.t", MetadataObject.Type.TABLE)
    admin.grant_privileges_to_role("bobs", on_table, [Privileges.allow("SELECT_TABLE")])
    assert tables_.load_table(table).name() == "t"
    assert tables_.list_tables(Namespace.of("G:H:J")) == [table]
    refused(ForbiddenException, tables_.alter_table, table, TableChange.set_property("a", "b"))
    refused(ForbiddenException, tables_.drop_table, table)
    refused(ForbiddenException, tables_.create_table, NameIdentifier.of("G:H:J", "u"), COLUMNS)
    admin.revoke_privileges_from_role("bobs", on_table, [Privileges.allow("SELECT_TABLE")])
    refused(ForbiddenException, tables_.load_table, table)
    admin.revoke_roles_from_user(["bobs"], "bob")
    refused(ForbiddenException, site.lake, "bob")


def owners(site: Site) -> None:
    admin = site.client("admin")
    admin.load_catalog("lake").as_schemas().create_schema("O:P:Q", "", {})
    use = SecurableObjects.of_catalog("lake", [Privileges.allow("USE_CATALOG")])
    admin.create_role("users-of-lake", {}, [use])
    admin.grant_roles_to_user(["users-of-lake"], "dora")
    schemas = site.lake("dora").as_schemas()
    refused(ForbiddenException, schemas.drop_schema, "O:P:Q", False)
    nested = _object("lake.O:P", MetadataObject.Type.SCHEMA)
    assert admin.get_owner(nested).name() == "admin"
    admin.set_owner(nested, "dora", Owner.Type.USER)
    owner = site.client("dora").get_owner(nested)
    assert (owner.name(), owner.type()) == ("dora", Owner.Type.USER)
    assert schemas.alter_schema("O:P:Q", SchemaChange.set_property("a", "b")).properties() == {"a": "b"}
    deny = SecurableObjects.of_schema(use, "O:P", [Privileges.deny("USE_SCHEMA")])
    admin.create_role("no-use", {}, [deny])
    admin.grant_roles_to_user(["no-use"], "dora")
    assert schemas.load_schema("O:P:Q").name() == "O:P:Q"
    assert schemas.drop_schema("O:P:Q", False)
    refused(
        ForbiddenException,
        site.client("dora").set_owner,
        _object("lake", MetadataObject.Type.CATALOG),
        "dora",
        Owner.Type.USER,
    )
    admin.add_group("team")
    admin.set_owner(nested, "team", Owner.Type.GROUP)
    assert admin.get_owner(nested).type() == Owner.Type.GROUP
    refused(ForbiddenException, schemas.drop_schema, "O:P", False)


SCENARIOS = (
    signing_in,
    simple_authentication,
    guide,
    metalakes,
    catalogs,
    mounted_catalogs,
    nested_schemas,
    tables,
    people,
    grants_and_denials,
    owners,
)


def main() -> None:
    told = json.load(sys.stdin)
    site, results = Site(told["uri"], told["tokens"], told["guide"], told["folder"], told["simple"]), {}
    for scenario in SCENARIOS:
        try:
            scenario(site)
            results[scenario.__name__] = None
        except Exception:  # noqa: BLE001 - the test shows it
            results[scenario.__name__] = traceback.format_exc()
    sys.stdout.write(json.dumps(results))


if __name__ == "__main__":
    main()
