"""Access control: groups, roles, grants, and owners that are groups.

Nothing is taken away, so code of the version before goes on running: what it makes is owned by users, and the rows of
grants follow what it renames and drops by their foreign keys.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
NAME = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
PRESENT = sa.text("lapsed_at IS NULL")
SETTINGS = sa.table("settings", sa.column("key", NAME), sa.column("value", sa.Text()))


def upgrade() -> None:
    op.add_column("jobs", sa.Column("requested_groups", sa.JSON()))
    _owners()
    _principals()
    _grants()
    _switch()


def _owners() -> None:
    for name in ("metalakes", "catalogs", "objects"):
        op.add_column(name, sa.Column("owner_kind", NAME, nullable=False, server_default="user"))
        rows = sa.table(name, sa.column("owner", NAME))
        op.execute(rows.update().where(rows.c.owner.is_(None)).values(owner="admin"))
    op.create_index("ix_objects_owner", "objects", ["owner", "owner_kind", "kind", "parent_id", "name"])
    op.create_index("uq_objects_place", "objects", ["id", "parent_id", "kind", "name"], unique=True)


def _principals() -> None:
    op.create_table(
        "groups",
        sa.Column("id", ID, nullable=False),
        sa.Column("name", NAME, nullable=False),
        sa.Column("created_by", NAME, nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_groups"),
        sa.UniqueConstraint("name", name="uq_groups_name"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "roles",
        sa.Column("id", ID, nullable=False),
        sa.Column("metalake_id", ID, nullable=False),
        sa.Column("name", NAME, nullable=False),
        sa.Column("comment", sa.Text()),
        sa.Column("created_by", NAME, nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_roles"),
        sa.ForeignKeyConstraint(["metalake_id"], ["metalakes.id"], name="fk_roles_metalake_id", ondelete="CASCADE"),
        sa.UniqueConstraint("metalake_id", "name", name="uq_roles_metalake_id_name"),
        sqlite_autoincrement=True,
    )
    _pairs("members", ("user_id", "users"), ("group_id", "groups"))
    _pairs("user_roles", ("user_id", "users"), ("role_id", "roles"))
    _pairs("group_roles", ("group_id", "groups"), ("role_id", "roles"))


def _pairs(name: str, *columns: tuple[str, str]) -> None:
    first, second = (column for column, _ in columns)
    op.create_table(
        name,
        *(sa.Column(column, ID, nullable=False) for column, _ in columns),
        sa.Column("granted_by", NAME, nullable=False),
        sa.Column("granted_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint(first, second, name=f"pk_{name}"),
        *(
            sa.ForeignKeyConstraint([column], [f"{table}.id"], name=f"fk_{name}_{column}", ondelete="CASCADE")
            for column, table in columns
        ),
    )
    op.create_index(f"ix_{name}_{second}", name, [second])


def _grants() -> None:
    op.create_table(
        "foreign_objects",
        sa.Column("id", ID, nullable=False),
        sa.Column("metalake_id", ID, nullable=False),
        sa.Column("catalog", NAME, nullable=False),
        sa.Column("path", NAME, nullable=False),
        sa.Column("kind", NAME, nullable=False),
        sa.Column("service_id", sa.Text()),
        sa.Column("made_at", sa.BigInteger()),
        sa.Column("owner", NAME),
        sa.Column("owner_kind", NAME, nullable=False, server_default="user"),
        sa.Column("created_by", NAME, nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("lapsed_at", sa.BigInteger()),
        sa.PrimaryKeyConstraint("id", name="pk_foreign_objects"),
        sa.ForeignKeyConstraint(
            ["metalake_id"], ["metalakes.id"], name="fk_foreign_objects_metalake_id", ondelete="CASCADE"
        ),
        sqlite_autoincrement=True,
    )
    path = ["metalake_id", "catalog", "path", "kind"]
    op.create_index(
        "uq_foreign_objects_path", "foreign_objects", path, unique=True, sqlite_where=PRESENT, postgresql_where=PRESENT
    )
    op.create_index("ix_foreign_objects_owner", "foreign_objects", ["owner", "owner_kind", "metalake_id", "catalog"])
    op.create_table(
        "grants",
        sa.Column("id", ID, nullable=False),
        sa.Column("role_id", ID, nullable=False),
        sa.Column("metalake_id", ID),
        sa.Column("foreign_id", ID),
        sa.Column("object_id", ID),
        sa.Column("parent_id", ID),
        sa.Column("kind", NAME),
        sa.Column("name", NAME),
        sa.Column("privilege", NAME, nullable=False),
        sa.Column("effect", NAME, nullable=False),
        sa.Column("granted_by", NAME, nullable=False),
        sa.Column("granted_at", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("effect IN ('allow', 'deny')", name="ck_grants_effect"),
        sa.CheckConstraint(
            "(metalake_id IS NOT NULL AND foreign_id IS NULL AND object_id IS NULL)"
            " OR (metalake_id IS NULL AND foreign_id IS NOT NULL AND object_id IS NULL)"
            " OR (metalake_id IS NULL AND foreign_id IS NULL AND object_id IS NOT NULL)",
            name="ck_grants_one",
        ),
        sa.PrimaryKeyConstraint("id", name="pk_grants"),
        sa.ForeignKeyConstraint(["role_id"], ["roles.id"], name="fk_grants_role_id", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["metalake_id"], ["metalakes.id"], name="fk_grants_metalake_id", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["foreign_id"], ["foreign_objects.id"], name="fk_grants_foreign_id", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["object_id"], ["objects.id"], name="fk_grants_object_id", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["object_id", "parent_id", "kind", "name"],
            ["objects.id", "objects.parent_id", "objects.kind", "objects.name"],
            name="fk_grants_place",
            onupdate="CASCADE",
            ondelete="CASCADE",
        ),
        sqlite_autoincrement=True,
    )
    for place in ("object", "metalake", "foreign"):
        op.create_index(f"uq_grants_{place}", "grants", [f"{place}_id", "role_id", "privilege", "effect"], unique=True)
    op.create_index("ix_grants_role", "grants", ["role_id", "parent_id", "kind", "name", "privilege", "effect"])


def _switch() -> None:
    """Turn access control on in a new database, and leave it off where people already work without it."""
    # The separator of a new database is stored after all migrations.
    is_old = op.get_bind().execute(sa.select(SETTINGS.c.key).where(SETTINGS.c.key == "separator")).first()
    op.bulk_insert(SETTINGS, [{"key": "access_control", "value": "off" if is_old else "on"}])
