"""Locations of tables that have gone, while credentials for them may live. Code of the version before goes on running.

It records none of its own drops; credentials are vended by newer code alone, which is the only one to be served by
while servers are replaced.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"

NAME = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "retired_locations",
        sa.Column("location", NAME, nullable=False),
        sa.Column("until", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("location", name="pk_retired_locations"),
    )
