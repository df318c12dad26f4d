"""The audit trail. Nothing that was there changes, so code of the version before goes on running."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
NAME = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "audit",
        sa.Column("id", ID, nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("request_id", NAME, nullable=False),
        sa.Column("user", NAME, nullable=False),
        sa.Column("via", NAME, nullable=False),
        sa.Column("operation", NAME, nullable=False),
        sa.Column("object", NAME),
        sa.Column("outcome", NAME, nullable=False),
        sa.Column("code", sa.BigInteger()),
        sa.Column("reason", sa.Text()),
        sa.Column("client", sa.Text()),
        sa.Column("agent", sa.Text()),
        sa.PrimaryKeyConstraint("id", name="pk_audit"),
        sqlite_autoincrement=True,
    )
    for columns in (["at", "id"], ["user", "at", "id"], ["object", "at", "id"]):
        op.create_index(f"ix_audit_{'_'.join(columns)}", "audit", columns)
