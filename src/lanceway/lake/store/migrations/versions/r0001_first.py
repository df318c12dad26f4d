"""The first tables: the tree of names, the versions of tables, and what holds for the whole lake."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
NAME = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    _lake()
    _tree()
    _versions()


def _lake() -> None:
    op.create_table(
        "settings",
        sa.Column("key", NAME, nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("key", name="pk_settings"),
    )
    locks = op.create_table(
        "locks",
        sa.Column("name", NAME, nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_locks"),
    )
    op.bulk_insert(locks, [{"name": "locations"}])
    op.create_table(
        "removals",
        sa.Column("location", NAME, nullable=False),
        sa.Column("dropped_by", NAME, nullable=False),
        sa.Column("dropped_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("location", name="pk_removals"),
    )


def _tree() -> None:
    op.create_table(
        "metalakes",
        sa.Column("id", ID, nullable=False),
        sa.Column("name", NAME, nullable=False),
        *_described(),
        sa.PrimaryKeyConstraint("id", name="pk_metalakes"),
        sa.UniqueConstraint("name", name="uq_metalakes_name"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "catalogs",
        sa.Column("id", ID, nullable=False),
        sa.Column("metalake_id", ID, nullable=False),
        sa.Column("name", NAME, nullable=False),
        sa.Column("kind", NAME, nullable=False),
        sa.Column("nested", sa.Boolean(), nullable=False),
        sa.Column("managed", sa.Boolean(), nullable=False),
        sa.Column("location", NAME),
        *_described(),
        sa.ForeignKeyConstraint(["metalake_id"], ["metalakes.id"], name="fk_catalogs_metalake_id"),
        sa.PrimaryKeyConstraint("id", name="pk_catalogs"),
        sa.UniqueConstraint("metalake_id", "name", name="uq_catalogs_metalake_id_name"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_catalogs_location", "catalogs", ["location"])
    _objects()


def _objects() -> None:
    op.create_table(
        "objects",
        sa.Column("id", ID, nullable=False),
        sa.Column("catalog_id", ID, nullable=False),
        sa.Column("parent_id", ID),
        sa.Column("parent_kind", NAME, server_default="namespace", nullable=False),
        sa.Column("kind", NAME, nullable=False),
        sa.Column("name", NAME, nullable=False),
        sa.Column("physical", NAME),
        sa.Column("location", NAME),
        sa.Column("managed", sa.Boolean(), nullable=False),
        sa.Column("metadata_pointer", sa.Text()),
        *_described(),
        sa.CheckConstraint("kind IN ('namespace', 'table', 'iceberg_table', 'view')", name="ck_objects_kind"),
        sa.CheckConstraint("parent_kind = 'namespace'", name="ck_objects_parent_kind"),
        sa.CheckConstraint("(kind = 'namespace') = (physical IS NOT NULL)", name="ck_objects_physical"),
        sa.CheckConstraint("(parent_id IS NULL) = (physical IS NOT NULL AND physical = '')", name="ck_objects_root"),
        sa.PrimaryKeyConstraint("id", name="pk_objects"),
        sa.UniqueConstraint("id", "kind", name="uq_objects_id_kind"),
        sa.UniqueConstraint("parent_id", "name", name="uq_objects_parent_id_name"),
        sa.ForeignKeyConstraint(
            ["parent_id", "parent_kind"], ["objects.id", "objects.kind"], name="fk_objects_parent_id_parent_kind"
        ),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_objects_parent_id_kind_name", "objects", ["parent_id", "kind", "name"])
    _partial_index("uq_objects_catalog_id_physical", "objects", ["catalog_id", "physical"], "physical IS NOT NULL")
    _partial_index("uq_objects_location", "objects", ["location"], "location IS NOT NULL")


def _versions() -> None:
    op.create_table(
        "versions",
        sa.Column("table_id", ID, nullable=False),
        sa.Column("branch", NAME, nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("staging_path", sa.Text(), nullable=False),
        sa.Column("final_path", sa.Text(), nullable=False),
        sa.Column("size", sa.BigInteger()),
        sa.Column("e_tag", sa.Text()),
        sa.Column("naming_scheme", sa.Text(), nullable=False),
        sa.Column("metadata", sa.JSON(), nullable=False),
        sa.Column("copied", sa.Boolean(), nullable=False),
        sa.Column("created_by", NAME, nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("table_id", "branch", "version", name="pk_versions"),
        sa.ForeignKeyConstraint(["table_id"], ["objects.id"], name="fk_versions_table_id", ondelete="CASCADE"),
    )
    _partial_index("ix_versions_uncopied", "versions", ["table_id", "branch", "version"], "NOT copied", unique=False)
    op.create_table(
        "strays",
        sa.Column("id", ID, nullable=False),
        sa.Column("table_id", ID, nullable=False),
        sa.Column("branch", NAME, nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("kept_path", NAME, nullable=False),
        sa.Column("found_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_strays"),
        sa.UniqueConstraint("table_id", "kept_path", name="uq_strays_table_id_kept_path"),
        sa.ForeignKeyConstraint(["table_id"], ["objects.id"], name="fk_strays_table_id", ondelete="CASCADE"),
        sqlite_autoincrement=True,
    )


def _described() -> tuple[sa.Column[Any], ...]:
    return (
        sa.Column("comment", sa.Text()),
        sa.Column("properties", sa.JSON(), nullable=False),
        sa.Column("owner", NAME),
        sa.Column("created_by", NAME, nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("changed_by", NAME, nullable=False),
        sa.Column("changed_at", sa.BigInteger(), nullable=False),
        sa.Column("revision", sa.BigInteger(), server_default=sa.text("1"), nullable=False),
    )


def _partial_index(name: str, table: str, columns: list[str], where: str, *, unique: bool = True) -> None:
    condition = sa.text(where)
    op.create_index(name, table, columns, unique=unique, sqlite_where=condition, postgresql_where=condition)
