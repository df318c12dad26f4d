"""Tags, branches and definitions as rows, and clones. Code of the version before goes on running.

A migration cannot read storage: the tables that are there, and those that older code still makes, are not `adopted`,
and what their storage has becomes rows when they are first used.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
NAME = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    op.add_column("objects", sa.Column("adopted", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.create_table(
        "tags",
        sa.Column("table_id", ID, nullable=False),
        sa.Column("name", NAME, nullable=False),
        sa.Column("branch", NAME, nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("size", sa.BigInteger()),
        sa.Column("metadata", sa.JSON(), nullable=False),
        sa.Column("state", NAME, nullable=False),
        sa.Column("stamp", NAME, nullable=False),
        sa.Column("owner", NAME),
        sa.Column("created_by", NAME, nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("changed_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("table_id", "name", name="pk_tags"),
        sa.ForeignKeyConstraint(["table_id"], ["objects.id"], name="fk_tags_table_id", ondelete="CASCADE"),
    )
    op.create_table(
        "branches",
        sa.Column("table_id", ID, nullable=False),
        sa.Column("name", NAME, nullable=False),
        sa.Column("parent", NAME, nullable=False),
        sa.Column("parent_version", sa.BigInteger(), nullable=False),
        sa.Column("size", sa.BigInteger()),
        sa.Column("lineage", sa.JSON(), nullable=False),
        sa.Column("metadata", sa.JSON(), nullable=False),
        sa.Column("state", NAME, nullable=False),
        sa.Column("stamp", NAME, nullable=False),
        sa.Column("owner", NAME),
        sa.Column("created_by", NAME, nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("table_id", "name", name="pk_branches"),
        sa.ForeignKeyConstraint(["table_id"], ["objects.id"], name="fk_branches_table_id", ondelete="CASCADE"),
    )
    op.create_table(
        "definitions",
        sa.Column("table_id", ID, nullable=False),
        sa.Column("branch", NAME, nullable=False),
        sa.Column("kind", NAME, nullable=False),
        sa.Column("name", NAME, nullable=False),
        sa.Column("definition", sa.JSON(), nullable=False),
        sa.Column("owner", NAME),
        sa.Column("created_by", NAME, nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("table_id", "branch", "kind", "name", name="pk_definitions"),
        sa.ForeignKeyConstraint(["table_id"], ["objects.id"], name="fk_definitions_table_id", ondelete="CASCADE"),
    )
    op.create_table(
        "clones",
        sa.Column("table_id", ID, nullable=False, autoincrement=False),
        sa.Column("source_id", ID, nullable=False),
        sa.Column("branch", NAME, nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("tag", NAME, nullable=False),
        sa.Column("base_paths", sa.JSON(), nullable=False),
        sa.Column("created_by", NAME, nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("table_id", name="pk_clones"),
        sa.ForeignKeyConstraint(["table_id"], ["objects.id"], name="fk_clones_table_id", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["source_id"], ["objects.id"], name="fk_clones_source_id"),
    )
    op.create_index("ix_clones_source_id_tag", "clones", ["source_id", "tag"])
