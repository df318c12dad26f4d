"""Users that are disabled, and whose issuer vouches for them. Nothing is taken away, so older code goes on running.

Code of the version before lets a disabled user in: disabling holds once every server is of this version.
Users that are there stay local, whatever their names: which of them came from an issuer is not known here.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"

NAME = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    op.add_column("users", sa.Column("issuer", NAME))
    op.add_column("users", sa.Column("disabled_by", NAME))
    op.add_column("users", sa.Column("disabled_at", sa.BigInteger()))
