"""The tables of the database. `migrations/` makes them; a test holds the two to each other.

    metalakes ─< catalogs ─< objects ─< objects (a namespace holds namespaces, tables and views)
                                └─< versions, strays, tags, branches, definitions, clones (of tables)
    users ─< tokens ─< tokens (issued for a token)
    users ─< sign_in_codes
    metalakes ─< mounts ─< foreign_objects
    metalakes ─< roles ─< grants (on metalakes, objects and foreign_objects)
    users ─< members >─ groups
    users ─< user_roles >─ roles    groups ─< group_roles >─ roles
    pipelines ─< runs ─< run_steps ─< run_reads
        └─< run_files
    jobs
    audit
    feed
    idempotency_keys

Every catalog has one object of its own, the root namespace with the empty physical name.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
    false,
    text,
)

# How the newest migration counts, and the oldest code that still runs on what it leaves.
VERSION = 13
OLDEST_CODE = 1
VERSION_TABLE = "lanceway_schema"

NAMESPACE, TABLE, ICEBERG_TABLE, VIEW = "namespace", "table", "iceberg_table", "view"
KINDS = (NAMESPACE, TABLE, ICEBERG_TABLE, VIEW)
USER, GROUP = "user", "group"  # what an owner is
ALLOW, DENY = "allow", "deny"

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
    }
)

# An INTEGER PRIMARY KEY is what SQLite counts up by itself.
Id = BigInteger().with_variant(Integer, "sqlite")
# Ordered and compared by code point, as Python does, whatever the database's own language is.
Name = Text().with_variant(Text(collation="C"), "postgresql")


def _audit() -> tuple[Column[Any], ...]:
    """Return the columns that say who made a row and when, and who changed it last and when."""
    return (
        *_owner(),
        Column("created_by", Name, nullable=False),
        Column("created_at", BigInteger, nullable=False),
        Column("changed_by", Name, nullable=False),
        Column("changed_at", BigInteger, nullable=False),
        Column("revision", BigInteger, nullable=False, server_default=text("1")),
    )


def _owner() -> tuple[Column[Any], ...]:
    """Return the columns for who owns a row: a user or a group, which may be known to an issuer alone."""
    return Column("owner", Name), Column("owner_kind", Name, nullable=False, server_default=USER)


settings = Table(
    "settings",
    metadata,
    Column("key", Name, primary_key=True),
    Column("value", Text, nullable=False),
)

metalakes = Table(
    "metalakes",
    metadata,
    Column("id", Id, primary_key=True),
    Column("name", Name, nullable=False, unique=True),
    Column("comment", Text),
    Column("properties", JSON, nullable=False),
    *_audit(),
    sqlite_autoincrement=True,
)

catalogs = Table(
    "catalogs",
    metadata,
    Column("id", Id, primary_key=True),
    Column("metalake_id", Id, ForeignKey("metalakes.id"), nullable=False),
    Column("name", Name, nullable=False),
    Column("kind", Name, nullable=False),
    Column("nested", Boolean, nullable=False),
    Column("managed", Boolean, nullable=False),  # what new tables are
    Column("location", Name),
    Column("comment", Text),
    Column("properties", JSON, nullable=False),
    *_audit(),
    Column("disabled_by", Name),
    Column("disabled_at", BigInteger),
    UniqueConstraint("metalake_id", "name"),
    Index(None, "location"),
    sqlite_autoincrement=True,
)

# Catalogs of other services that were made through an interface. No name is here and among the catalogs. What is
# granted on one, and who owns it, is in its foreign objects.
mounts = Table(
    "mounts",
    metadata,
    Column("id", Id, primary_key=True),
    Column("metalake_id", Id, nullable=False),
    Column("name", Name, nullable=False),
    Column("key", Name, nullable=False, unique=True),  # what its secrets are bound to, whatever its name
    Column("type", Name, nullable=False),
    Column("settings", JSON, nullable=False),  # those that are no secrets
    Column("secrets", Text),  # the others, encrypted
    Column("secret_names", JSON, nullable=False),
    Column("key_id", Name),  # the key that they are encrypted with
    Column("comment", Text),
    Column("properties", JSON, nullable=False),
    Column("created_by", Name, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("changed_by", Name, nullable=False),
    Column("changed_at", BigInteger, nullable=False),
    Column("revision", BigInteger, nullable=False, server_default=text("1")),
    Column("disabled_by", Name),
    Column("disabled_at", BigInteger),
    ForeignKeyConstraint(["metalake_id"], ["metalakes.id"], ondelete="CASCADE"),
    UniqueConstraint("metalake_id", "name"),
    sqlite_autoincrement=True,
)

objects = Table(
    "objects",
    metadata,
    Column("id", Id, primary_key=True),
    # No foreign key: the root goes with its catalog, and everything else hangs on the root by `parent_id`.
    Column("catalog_id", Id, nullable=False),
    Column("parent_id", Id),
    Column("parent_kind", Name, nullable=False, server_default=NAMESPACE),
    Column("kind", Name, nullable=False),
    Column("name", Name, nullable=False),
    Column("physical", Name),  # of namespaces: the whole path, so that any depth is found by one look-up
    Column("location", Name),
    Column("managed", Boolean, nullable=False),
    Column("metadata_pointer", Text),  # of Iceberg tables and views
    Column("comment", Text),
    Column("properties", JSON, nullable=False),
    *_audit(),
    # Whether tags, branches and definitions are rows. False of tables that an older version made: what is in their
    # storage becomes rows when they are first used.
    Column("adopted", Boolean, nullable=False, server_default=false()),
    CheckConstraint(f"kind IN ('{NAMESPACE}', '{TABLE}', '{ICEBERG_TABLE}', '{VIEW}')", name="kind"),
    CheckConstraint(f"parent_kind = '{NAMESPACE}'", name="parent_kind"),
    CheckConstraint(f"(kind = '{NAMESPACE}') = (physical IS NOT NULL)", name="physical"),
    CheckConstraint("(parent_id IS NULL) = (physical IS NOT NULL AND physical = '')", name="root"),
    UniqueConstraint("id", "kind"),
    # Only a namespace can be a parent, and none goes while anything is inside. It is checked at the end of
    # a statement, which lets one statement drop a whole subtree.
    ForeignKeyConstraint(["parent_id", "parent_kind"], ["objects.id", "objects.kind"]),
    UniqueConstraint("parent_id", "name"),
    Index(None, "parent_id", "kind", "name"),  # lists
    Index(
        "uq_objects_catalog_id_physical",
        "catalog_id",
        "physical",
        unique=True,
        sqlite_where=text("physical IS NOT NULL"),
        postgresql_where=text("physical IS NOT NULL"),
    ),
    Index(
        "uq_objects_location",
        "location",
        unique=True,
        sqlite_where=text("location IS NOT NULL"),
        postgresql_where=text("location IS NOT NULL"),
    ),
    Index("uq_objects_place", "id", "parent_id", "kind", "name", unique=True),  # what grants refer to
    Index("ix_objects_owner", "owner", "owner_kind", "kind", "parent_id", "name"),
    sqlite_autoincrement=True,
)

versions = Table(
    "versions",
    metadata,
    Column("table_id", Id, nullable=False),
    Column("branch", Name, nullable=False),  # empty for the main branch
    Column("version", BigInteger, nullable=False),
    Column("staging_path", Text, nullable=False),
    Column("final_path", Text, nullable=False),
    Column("size", BigInteger),
    Column("e_tag", Text),
    Column("naming_scheme", Text, nullable=False),
    Column("metadata", JSON, nullable=False),
    Column("copied", Boolean, nullable=False),
    Column("created_by", Name, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    PrimaryKeyConstraint("table_id", "branch", "version"),
    ForeignKeyConstraint(["table_id"], ["objects.id"], ondelete="CASCADE"),
    Index(
        "ix_versions_uncopied",
        "table_id",
        "branch",
        "version",
        sqlite_where=text("NOT copied"),
        postgresql_where=text("NOT copied"),
    ),
)

orphan_manifests = Table(
    "strays",
    metadata,
    Column("id", Id, primary_key=True),
    Column("table_id", Id, nullable=False),
    Column("branch", Name, nullable=False),
    Column("version", BigInteger, nullable=False),
    Column("path", Text, nullable=False),  # where it was written
    Column("kept_path", Name, nullable=False),  # where it was moved
    Column("found_at", BigInteger, nullable=False),
    ForeignKeyConstraint(["table_id"], ["objects.id"], ondelete="CASCADE"),
    UniqueConstraint("table_id", "kept_path"),
    sqlite_autoincrement=True,
)

# Names for versions of managed tables. Storage has a file for each, which follows the row: `state` says how far.
tags = Table(
    "tags",
    metadata,
    Column("table_id", Id, nullable=False),
    Column("name", Name, nullable=False),
    Column("branch", Name, nullable=False),  # empty for the main branch
    Column("version", BigInteger, nullable=False),
    Column("size", BigInteger),  # of the version's manifest
    Column("metadata", JSON, nullable=False),
    Column("state", Name, nullable=False),
    Column("stamp", Name, nullable=False),  # another one after each change
    Column("owner", Name),
    Column("created_by", Name, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("changed_at", BigInteger, nullable=False),
    PrimaryKeyConstraint("table_id", "name"),
    ForeignKeyConstraint(["table_id"], ["objects.id"], ondelete="CASCADE"),
)

# Lines of versions beside the main one, with what the file in storage says of each.
branches = Table(
    "branches",
    metadata,
    Column("table_id", Id, nullable=False),
    Column("name", Name, nullable=False),
    Column("parent", Name, nullable=False),  # empty for the main branch
    Column("parent_version", BigInteger, nullable=False),
    Column("size", BigInteger),  # of the manifest of its first version
    Column("lineage", JSON, nullable=False),  # what tells branches apart that had one name after the other
    Column("metadata", JSON, nullable=False),
    Column("state", Name, nullable=False),
    Column("stamp", Name, nullable=False),  # another one after each change
    Column("owner", Name),
    Column("created_by", Name, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    PrimaryKeyConstraint("table_id", "name"),
    ForeignKeyConstraint(["table_id"], ["objects.id"], ondelete="CASCADE"),
)

# How the rows of a view and the values of a column come about.
definitions = Table(
    "definitions",
    metadata,
    Column("table_id", Id, nullable=False),
    Column("branch", Name, nullable=False),  # empty for the main branch
    Column("kind", Name, nullable=False),
    Column("name", Name, nullable=False),  # of the column; empty for a view
    Column("definition", JSON, nullable=False),
    Column("owner", Name),
    Column("created_by", Name, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    PrimaryKeyConstraint("table_id", "branch", "kind", "name"),
    ForeignKeyConstraint(["table_id"], ["objects.id"], ondelete="CASCADE"),
)

# Tables that share files with the one that they are clones of. The server alone makes these rows: they say which base
# paths a clone may have. A source stays as long as it has clones, and so does the version that its tag names.
clones = Table(
    "clones",
    metadata,
    Column("table_id", Id, primary_key=True, autoincrement=False),
    Column("source_id", Id, nullable=False),
    Column("branch", Name, nullable=False),  # of the source; empty for the main branch
    Column("version", BigInteger, nullable=False),
    Column("tag", Name, nullable=False),
    Column("base_paths", JSON, nullable=False),
    Column("created_by", Name, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    ForeignKeyConstraint(["table_id"], ["objects.id"], ondelete="CASCADE"),
    ForeignKeyConstraint(["source_id"], ["objects.id"]),
    Index(None, "source_id", "tag"),
)

# Folders of dropped tables, until their data is gone: written with the drop, so that no crash forgets one.
removals = Table(
    "removals",
    metadata,
    Column("location", Name, primary_key=True),
    Column("dropped_by", Name, nullable=False),
    Column("dropped_at", BigInteger, nullable=False),
)

# Locations of tables that have gone, for as long as credentials may open them that were made for those tables.
retired_locations = Table(
    "retired_locations",
    metadata,
    Column("location", Name, primary_key=True),
    Column("until", BigInteger, nullable=False),
)

# Rows to be locked: a transaction that gives out a location that a user chose holds the lock on all locations.
locks = Table("locks", metadata, Column("name", Name, primary_key=True))
LOCATIONS = "locations"

# Who may ask. Names are the server's, not a metalake's: other tables say what a user is in a metalake.
users = Table(
    "users",
    metadata,
    Column("id", Id, primary_key=True),
    Column("name", Name, nullable=False, unique=True),
    Column("admin", Boolean, nullable=False),  # looks after the server itself
    Column("created_by", Name, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("issuer", Name),  # the alias of the issuer that vouches for the user; null for a user of the lake itself
    Column("disabled_by", Name),
    Column("disabled_at", BigInteger),
    sqlite_autoincrement=True,
)

tokens = Table(
    "tokens",
    metadata,
    Column("id", Id, primary_key=True),
    Column("user_id", Id, nullable=False),
    Column("prefix", Name, nullable=False, unique=True),  # what it is known by; no secret
    Column("hash", Text, nullable=False),  # of the whole token, which is kept nowhere
    Column("label", Text),
    Column("created_by", Name, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger),
    Column("revoked_by", Name),
    Column("revoked_at", BigInteger),
    Column("last_used_at", BigInteger),
    Column("parent_id", Id),  # the token that it was issued for, and ends with
    ForeignKeyConstraint(["user_id"], ["users.id"], ondelete="CASCADE"),
    ForeignKeyConstraint(["parent_id"], ["tokens.id"], ondelete="CASCADE"),
    Index(None, "user_id", "id"),
    Index(None, "parent_id"),
    sqlite_autoincrement=True,
)

# Codes of links that sign in to the console, each for one sign-in within a few minutes.
sign_in_codes = Table(
    "sign_in_codes",
    metadata,
    Column("hash", Name, primary_key=True),  # of the code, which is kept nowhere
    Column("user_id", Id, nullable=False),
    Column("created_by", Name, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    ForeignKeyConstraint(["user_id"], ["users.id"], ondelete="CASCADE"),
    Index(None, "user_id"),
    Index(None, "expires_at"),
)

# Groups of the lake itself, and those of issuers that have roles. Who is in the latter, an issuer says in each request.
groups = Table(
    "groups",
    metadata,
    Column("id", Id, primary_key=True),
    Column("name", Name, nullable=False, unique=True),
    Column("created_by", Name, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    sqlite_autoincrement=True,
)

members = Table(
    "members",
    metadata,
    Column("user_id", Id, nullable=False),
    Column("group_id", Id, nullable=False),
    Column("granted_by", Name, nullable=False),
    Column("granted_at", BigInteger, nullable=False),
    PrimaryKeyConstraint("user_id", "group_id"),
    ForeignKeyConstraint(["user_id"], ["users.id"], ondelete="CASCADE"),
    ForeignKeyConstraint(["group_id"], ["groups.id"], ondelete="CASCADE"),
    Index(None, "group_id"),
)

roles = Table(
    "roles",
    metadata,
    Column("id", Id, primary_key=True),
    Column("metalake_id", Id, nullable=False),
    Column("name", Name, nullable=False),
    Column("comment", Text),
    Column("created_by", Name, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    ForeignKeyConstraint(["metalake_id"], ["metalakes.id"], ondelete="CASCADE"),
    UniqueConstraint("metalake_id", "name"),
    sqlite_autoincrement=True,
)


def _role_holders(name: str, holder: str, holders: str) -> Table:
    return Table(
        name,
        metadata,
        Column(holder, Id, nullable=False),
        Column("role_id", Id, nullable=False),
        Column("granted_by", Name, nullable=False),
        Column("granted_at", BigInteger, nullable=False),
        PrimaryKeyConstraint(holder, "role_id"),
        ForeignKeyConstraint([holder], [f"{holders}.id"], ondelete="CASCADE"),
        ForeignKeyConstraint(["role_id"], ["roles.id"], ondelete="CASCADE"),
        Index(None, "role_id"),
    )


user_roles = _role_holders("user_roles", "user_id", "users")
group_roles = _role_holders("group_roles", "group_id", "groups")

# What is granted or owned in catalogs that are not the lake's: the catalog itself has the empty path. An object that
# the service has dropped, or made again under the same name, has lapsed.
foreign_objects = Table(
    "foreign_objects",
    metadata,
    Column("id", Id, primary_key=True),
    Column("metalake_id", Id, nullable=False),
    Column("catalog", Name, nullable=False),
    Column("path", Name, nullable=False),  # encoded like the physical name of a namespace
    Column("kind", Name, nullable=False),
    Column("service_id", Text),  # what the service itself calls the object
    Column("made_at", BigInteger),  # when the service made it
    *_owner(),
    Column("created_by", Name, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("lapsed_at", BigInteger),
    Column("mount_id", Id),  # null for a catalog of the configuration file
    ForeignKeyConstraint(["metalake_id"], ["metalakes.id"], ondelete="CASCADE"),
    ForeignKeyConstraint(["mount_id"], ["mounts.id"], ondelete="CASCADE"),
    Index(None, "mount_id"),
    Index(
        "uq_foreign_objects_path",
        "metalake_id",
        "catalog",
        "path",
        "kind",
        unique=True,
        sqlite_where=text("lapsed_at IS NULL"),
        postgresql_where=text("lapsed_at IS NULL"),
    ),
    Index("ix_foreign_objects_owner", "owner", "owner_kind", "metalake_id", "catalog"),
    sqlite_autoincrement=True,
)

# What a role may do, or may not, with a metalake, an object or a foreign object, and with all that is inside. A catalog
# is meant by its root. What is granted and what is denied stand side by side: no order of changes matters.
grants = Table(
    "grants",
    metadata,
    Column("id", Id, primary_key=True),
    Column("role_id", Id, nullable=False),
    Column("metalake_id", Id),
    Column("foreign_id", Id),
    Column("object_id", Id),
    # Where the object is, for pages of what is granted inside a namespace; they follow when it is renamed.
    Column("parent_id", Id),
    Column("kind", Name),
    Column("name", Name),
    Column("privilege", Name, nullable=False),
    Column("effect", Name, nullable=False),
    Column("granted_by", Name, nullable=False),
    Column("granted_at", BigInteger, nullable=False),
    CheckConstraint(f"effect IN ('{ALLOW}', '{DENY}')", name="effect"),
    CheckConstraint(
        "(metalake_id IS NOT NULL AND foreign_id IS NULL AND object_id IS NULL)"
        " OR (metalake_id IS NULL AND foreign_id IS NOT NULL AND object_id IS NULL)"
        " OR (metalake_id IS NULL AND foreign_id IS NULL AND object_id IS NOT NULL)",
        name="one",
    ),
    ForeignKeyConstraint(["role_id"], ["roles.id"], ondelete="CASCADE"),
    ForeignKeyConstraint(["metalake_id"], ["metalakes.id"], ondelete="CASCADE"),
    ForeignKeyConstraint(["foreign_id"], ["foreign_objects.id"], ondelete="CASCADE"),
    # This one holds for roots too, which have no parent.
    ForeignKeyConstraint(["object_id"], ["objects.id"], ondelete="CASCADE"),
    ForeignKeyConstraint(
        ["object_id", "parent_id", "kind", "name"],
        ["objects.id", "objects.parent_id", "objects.kind", "objects.name"],
        name="fk_grants_place",
        onupdate="CASCADE",
        ondelete="CASCADE",
    ),
    # By object and role: a decision looks few roles up on few objects, however many roles an object is granted to.
    Index("uq_grants_object", "object_id", "role_id", "privilege", "effect", unique=True),
    Index("uq_grants_metalake", "metalake_id", "role_id", "privilege", "effect", unique=True),
    Index("uq_grants_foreign", "foreign_id", "role_id", "privilege", "effect", unique=True),
    Index("ix_grants_role", "role_id", "parent_id", "kind", "name", "privilege", "effect"),
    sqlite_autoincrement=True,
)

# Pipelines and what their runs did. The process that runs one holds its lease until that ends or is given back.
pipelines = Table(
    "pipelines",
    metadata,
    Column("id", Id, primary_key=True),
    Column("name", Name, nullable=False, unique=True),
    Column("holder", Name),  # a key that only the holder knows
    Column("held_by", Text),  # who that is, for people
    Column("held_since", BigInteger),
    Column("held_until", BigInteger),
    Column("created_at", BigInteger, nullable=False),
    sqlite_autoincrement=True,
)

runs = Table(
    "runs",
    metadata,
    Column("id", Id, primary_key=True),
    Column("pipeline_id", Id, nullable=False),
    Column("number", BigInteger, nullable=False),
    Column("key", Name, nullable=False, unique=True),  # what marks the commits of the run, in any table
    Column("state", Name, nullable=False),
    Column("full", Boolean, nullable=False),
    Column("attempts", BigInteger, nullable=False),
    Column("started_by", Name, nullable=False),
    Column("graph", JSON, nullable=False),
    Column("pins", JSON),  # what it reads of each source; null until that is decided
    Column("error", Text),
    Column("began_at", BigInteger, nullable=False),
    Column("ended_at", BigInteger),
    ForeignKeyConstraint(["pipeline_id"], ["pipelines.id"], ondelete="CASCADE"),
    UniqueConstraint("pipeline_id", "number"),
    sqlite_autoincrement=True,
)

run_steps = Table(
    "run_steps",
    metadata,
    Column("run_id", Id, nullable=False),
    Column("name", Name, nullable=False),
    Column("position", BigInteger, nullable=False),
    Column("kind", Name, nullable=False),
    Column("state", Name, nullable=False),
    Column("base", BigInteger),  # the version of the table before the step; 0 if there was none
    Column("table_name", Text),
    Column("location", Name),
    Column("version", BigInteger),
    Column("rows", BigInteger),
    Column("bytes", BigInteger),
    Column("details", JSON, nullable=False),
    Column("error", Text),
    Column("began_at", BigInteger),
    Column("ended_at", BigInteger),
    PrimaryKeyConstraint("run_id", "name"),
    ForeignKeyConstraint(["run_id"], ["runs.id"], ondelete="CASCADE"),
    Index(None, "location", "version"),
)

# Which versions of its sources a table's version was made from.
run_reads = Table(
    "run_reads",
    metadata,
    Column("run_id", Id, nullable=False),
    Column("step", Name, nullable=False),
    Column("source", Name, nullable=False),
    Column("kind", Name, nullable=False),
    Column("table_name", Text),
    Column("location", Name),
    Column("after", BigInteger, nullable=False),  # only what is later was read; 0 for all
    Column("version", BigInteger, nullable=False),
    PrimaryKeyConstraint("run_id", "step", "source"),
    ForeignKeyConstraint(["run_id", "step"], ["run_steps.run_id", "run_steps.name"], ondelete="CASCADE"),
    Index(None, "location"),
)

# The files of a source, by the numbers of the runs that first saw them and first missed them.
run_files = Table(
    "run_files",
    metadata,
    Column("id", Id, primary_key=True),
    Column("pipeline_id", Id, nullable=False),
    Column("source", Name, nullable=False),
    Column("path", Text, nullable=False),
    Column("modified", BigInteger, nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("since", BigInteger, nullable=False),
    Column("gone", BigInteger),
    ForeignKeyConstraint(["pipeline_id"], ["pipelines.id"], ondelete="CASCADE"),
    Index(None, "pipeline_id", "source", "since"),
    sqlite_autoincrement=True,
)

# Background jobs. The worker that runs one holds its lease until that ends or is returned.
jobs = Table(
    "jobs",
    metadata,
    Column("id", Id, primary_key=True),
    Column("key", Name, nullable=False, unique=True),  # what people and programs know it by
    Column("kind", Name, nullable=False),
    Column("metalake", Name, nullable=False),
    Column("catalog", Name, nullable=False),  # of the lake, or mounted beside it
    Column("path", Text, nullable=False),  # the table in the catalog: its names, as JSON
    Column("place", Name, nullable=False),  # the same for jobs of one table; a hash, for an index to hold
    Column("request", JSON, nullable=False),
    Column("digest", Name, nullable=False),  # the same for jobs that would do the same
    Column("state", Name, nullable=False),
    Column("due_at", BigInteger, nullable=False),  # not to be begun before
    Column("holder", Name),  # a key that only the holder knows
    Column("held_by", Text),  # who that is, for people
    Column("held_until", BigInteger),
    Column("attempts", BigInteger, nullable=False),
    Column("cancelled_by", Name),  # who wants it to end, also while it still runs
    Column("progress", JSON),
    Column("result", JSON),
    Column("error", Text),
    Column("requested_by", Name, nullable=False),
    # The groups that an issuer named, of a user of a server; null for who has the database's own credentials.
    Column("requested_groups", JSON(none_as_null=True)),
    Column("created_at", BigInteger, nullable=False),
    Column("began_at", BigInteger),
    Column("ended_at", BigInteger),
    # The same job is never queued twice.
    Index(
        "uq_jobs_waiting",
        "digest",
        unique=True,
        sqlite_where=text("state = 'queued'"),
        postgresql_where=text("state = 'queued'"),
    ),
    # Of the jobs of one table, one runs at a time.
    Index(
        "uq_jobs_held",
        "place",
        unique=True,
        sqlite_where=text("holder IS NOT NULL"),
        postgresql_where=text("holder IS NOT NULL"),
    ),
    Index(None, "state", "due_at", "id"),
    Index(None, "requested_by", "id"),
    sqlite_autoincrement=True,
)

# Who asked for what. Names and paths, and no keys: a row outlives what it is about.
audit = Table(
    "audit",
    metadata,
    Column("id", Id, primary_key=True),
    Column("at", BigInteger, nullable=False),
    Column("request_id", Name, nullable=False),
    Column("user", Name, nullable=False),
    Column("via", Name, nullable=False),
    Column("operation", Name, nullable=False),
    Column("object", Name),
    Column("outcome", Name, nullable=False),
    Column("code", BigInteger),
    Column("reason", Text),
    Column("client", Text),
    Column("agent", Text),
    Index(None, "at", "id"),
    Index(None, "user", "at", "id"),
    Index(None, "object", "at", "id"),
    sqlite_autoincrement=True,
)

# What happened: a row is written with the change that it is about. Names and numbers, and no keys: it outlives what it
# is about. `lake/feed/` says how the rows are ordered.
feed = Table(
    "feed",
    metadata,
    Column("id", Id, primary_key=True),
    Column("turn", BigInteger, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("type", Name, nullable=False),
    Column("actor", Name),
    Column("metalake", Name),  # null for what belongs to no metalake, such as a user
    Column("catalog", Name),
    Column("space", Name),  # the physical name of the namespace that it is, or is in
    Column("kind", Name, nullable=False),
    Column("name", Name, nullable=False),  # empty for a metalake, a catalog and a namespace
    Column("catalog_id", Id),
    Column("parent_id", Id),
    Column("row_id", Id),  # of what it is about, in the table that has its kind
    # Of an object that goes: whether nothing was denied on it, so that who sees what is in its namespace saw it too.
    Column("undenied", Boolean),
    Column("data", JSON, nullable=False),
    # Empty in SQLite, where every turn is 0 and ids are enough: a page less is written with each commit.
    Index(None, "turn", "id", sqlite_where=text("turn <> 0")),
)

# Requests that a client marked with a key, so that one it sends again is not carried out twice. A row is pending while
# one process works on the request, which holds it until `held_until`, and then has the answer.
idempotency_keys = Table(
    "idempotency_keys",
    metadata,
    Column("principal", Name, nullable=False),
    Column("key", Name, nullable=False),
    Column("digest", Name, nullable=False),  # the same for requests that ask the same
    Column("state", Name, nullable=False),
    Column("holder", Name, nullable=False),  # a key that only the holder knows
    Column("held_until", BigInteger, nullable=False),
    Column("status", Integer),
    Column("headers", JSON(none_as_null=True)),
    Column("body", LargeBinary),  # compressed, without secrets; null for one that is too large
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    PrimaryKeyConstraint("principal", "key"),
    Index(None, "expires_at"),
)
