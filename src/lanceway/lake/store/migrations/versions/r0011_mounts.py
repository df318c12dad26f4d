"""Catalogs made through an interface, catalogs that are disabled, tokens issued for tokens. Older code goes on running.

Code of the version before does not show these catalogs, serves a catalog of the lake that is disabled, and leaves what
was issued for a token valid for its hour when it revokes that token: all of it holds once every server is of this
version.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
NAME = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    op.add_column("catalogs", sa.Column("disabled_by", NAME))
    op.add_column("catalogs", sa.Column("disabled_at", sa.BigInteger()))
    op.create_table(
        "mounts",
        sa.Column("id", ID, nullable=False),
        sa.Column("metalake_id", ID, nullable=False),
        sa.Column("name", NAME, nullable=False),
        sa.Column("key", NAME, nullable=False),
        sa.Column("type", NAME, nullable=False),
        sa.Column("settings", sa.JSON(), nullable=False),
        sa.Column("secrets", sa.Text()),
        sa.Column("secret_names", sa.JSON(), nullable=False),
        sa.Column("key_id", NAME),
        sa.Column("comment", sa.Text()),
        sa.Column("properties", sa.JSON(), nullable=False),
        sa.Column("created_by", NAME, nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("changed_by", NAME, nullable=False),
        sa.Column("changed_at", sa.BigInteger(), nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False, server_default=sa.text("1")),
        sa.Column("disabled_by", NAME),
        sa.Column("disabled_at", sa.BigInteger()),
        sa.PrimaryKeyConstraint("id", name="pk_mounts"),
        sa.ForeignKeyConstraint(["metalake_id"], ["metalakes.id"], name="fk_mounts_metalake_id", ondelete="CASCADE"),
        sa.UniqueConstraint("key", name="uq_mounts_key"),
        sa.UniqueConstraint("metalake_id", "name", name="uq_mounts_metalake_id_name"),
        sqlite_autoincrement=True,
    )
    _refer("foreign_objects", "mount_id", "mounts")
    _refer("tokens", "parent_id", "tokens")


def _refer(table: str, column: str, other: str) -> None:
    """Add a column that refers to another table, in one statement: SQLite adds no constraint later."""
    kind = "BIGINT" if op.get_bind().dialect.name == "postgresql" else "INTEGER"
    reference = f"CONSTRAINT fk_{table}_{column} REFERENCES {other} (id) ON DELETE CASCADE"
    op.execute(sa.text(f"ALTER TABLE {table} ADD COLUMN {column} {kind} {reference}"))
    op.create_index(f"ix_{table}_{column}", table, [column])
