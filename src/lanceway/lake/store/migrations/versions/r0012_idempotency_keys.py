"""Keys of requests that must not be carried out twice. Code of the version before goes on running.

It serves no Iceberg REST, and so is sent none of these keys.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"

NAME = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "idempotency_keys",
        sa.Column("principal", NAME, nullable=False),
        sa.Column("key", NAME, nullable=False),
        sa.Column("digest", NAME, nullable=False),
        sa.Column("state", NAME, nullable=False),
        sa.Column("holder", NAME, nullable=False),
        sa.Column("held_until", sa.BigInteger(), nullable=False),
        sa.Column("status", sa.Integer()),
        sa.Column("headers", sa.JSON()),
        sa.Column("body", sa.LargeBinary()),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("principal", "key", name="pk_idempotency_keys"),
    )
    op.create_index("ix_idempotency_keys_expires_at", "idempotency_keys", ["expires_at"])
