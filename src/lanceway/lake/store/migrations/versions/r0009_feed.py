"""The feed of events. Code of the version before goes on running; what it changes leaves no events."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
NAME = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "feed",
        sa.Column("id", ID, nullable=False),
        sa.Column("turn", sa.BigInteger(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("type", NAME, nullable=False),
        sa.Column("actor", NAME),
        sa.Column("metalake", NAME),
        sa.Column("catalog", NAME),
        sa.Column("space", NAME),
        sa.Column("kind", NAME, nullable=False),
        sa.Column("name", NAME, nullable=False),
        sa.Column("catalog_id", ID),
        sa.Column("parent_id", ID),
        sa.Column("row_id", ID),
        sa.Column("undenied", sa.Boolean()),
        sa.Column("data", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_feed"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_feed_turn_id", "feed", ["turn", "id"])
