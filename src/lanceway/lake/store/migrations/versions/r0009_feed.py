"""The feed of events. Code of the version before goes on running; what it changes leaves no events."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
NAME = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


# A claim is one statement. In PostgreSQL it writes its event too; in SQLite, where a statement changes one table, a
# trigger does, since two statements would have to be a transaction.
CLAIMED = """
CREATE TRIGGER feed_version_created AFTER INSERT ON versions WHEN NOT NEW.copied
BEGIN
    INSERT INTO feed
        (turn, at, type, actor, metalake, catalog, space, kind, name, catalog_id, parent_id, row_id, data)
    SELECT
        0, NEW.created_at, 'version.created', NEW.created_by, metalakes.name, catalogs.name, around.physical,
        objects.kind, objects.name, objects.catalog_id, objects.parent_id, objects.id,
        json_object('branch', NEW.branch, 'version', NEW.version)
    FROM objects
    JOIN catalogs ON catalogs.id = objects.catalog_id
    JOIN metalakes ON metalakes.id = catalogs.metalake_id
    JOIN objects AS around ON around.id = objects.parent_id
    WHERE objects.id = NEW.table_id;
END
"""


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
    )
    op.create_index("ix_feed_turn_id", "feed", ["turn", "id"], sqlite_where=sa.text("turn <> 0"))
    if op.get_bind().dialect.name == "sqlite":
        op.execute(CLAIMED)
