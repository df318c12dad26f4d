"""Background jobs. Nothing that was there changes, so code of the version before goes on running."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
NAME = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
WAITING, HELD = sa.text("state = 'queued'"), sa.text("holder IS NOT NULL")


def upgrade() -> None:
    op.create_table(
        "jobs",
        sa.Column("id", ID, nullable=False),
        sa.Column("key", NAME, nullable=False),
        sa.Column("kind", NAME, nullable=False),
        sa.Column("metalake", NAME, nullable=False),
        sa.Column("catalog", NAME, nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("place", NAME, nullable=False),
        sa.Column("request", sa.JSON(), nullable=False),
        sa.Column("digest", NAME, nullable=False),
        sa.Column("state", NAME, nullable=False),
        sa.Column("due_at", sa.BigInteger(), nullable=False),
        sa.Column("holder", NAME),
        sa.Column("held_by", sa.Text()),
        sa.Column("held_until", sa.BigInteger()),
        sa.Column("attempts", sa.BigInteger(), nullable=False),
        sa.Column("cancelled_by", NAME),
        sa.Column("progress", sa.JSON()),
        sa.Column("result", sa.JSON()),
        sa.Column("error", sa.Text()),
        sa.Column("requested_by", NAME, nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("began_at", sa.BigInteger()),
        sa.Column("ended_at", sa.BigInteger()),
        sa.PrimaryKeyConstraint("id", name="pk_jobs"),
        sa.UniqueConstraint("key", name="uq_jobs_key"),
        sqlite_autoincrement=True,
    )
    op.create_index("uq_jobs_waiting", "jobs", ["digest"], unique=True, sqlite_where=WAITING, postgresql_where=WAITING)
    op.create_index("uq_jobs_held", "jobs", ["place"], unique=True, sqlite_where=HELD, postgresql_where=HELD)
    op.create_index("ix_jobs_state_due_at_id", "jobs", ["state", "due_at", "id"])
    op.create_index("ix_jobs_requested_by_id", "jobs", ["requested_by", "id"])
