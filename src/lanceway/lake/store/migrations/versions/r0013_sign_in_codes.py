"""Codes of links that sign in to the console. Code of the version before goes on running: it knows no such links."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"

NAME = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "sign_in_codes",
        sa.Column("hash", NAME, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("created_by", NAME, nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("hash", name="pk_sign_in_codes"),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_sign_in_codes_user_id", ondelete="CASCADE"),
    )
    op.create_index("ix_sign_in_codes_user_id", "sign_in_codes", ["user_id"])
    op.create_index("ix_sign_in_codes_expires_at", "sign_in_codes", ["expires_at"])
