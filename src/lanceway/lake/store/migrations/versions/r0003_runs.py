"""Pipelines and their runs. Nothing that was there changes, so code of the version before goes on running."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
NAME = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "pipelines",
        sa.Column("id", ID, nullable=False),
        sa.Column("name", NAME, nullable=False),
        sa.Column("holder", NAME),
        sa.Column("held_by", sa.Text()),
        sa.Column("held_since", sa.BigInteger()),
        sa.Column("held_until", sa.BigInteger()),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_pipelines"),
        sa.UniqueConstraint("name", name="uq_pipelines_name"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "runs",
        sa.Column("id", ID, nullable=False),
        sa.Column("pipeline_id", ID, nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("key", NAME, nullable=False),
        sa.Column("state", NAME, nullable=False),
        sa.Column("full", sa.Boolean(), nullable=False),
        sa.Column("attempts", sa.BigInteger(), nullable=False),
        sa.Column("started_by", NAME, nullable=False),
        sa.Column("graph", sa.JSON(), nullable=False),
        sa.Column("pins", sa.JSON()),
        sa.Column("error", sa.Text()),
        sa.Column("began_at", sa.BigInteger(), nullable=False),
        sa.Column("ended_at", sa.BigInteger()),
        sa.PrimaryKeyConstraint("id", name="pk_runs"),
        sa.UniqueConstraint("key", name="uq_runs_key"),
        sa.UniqueConstraint("pipeline_id", "number", name="uq_runs_pipeline_id_number"),
        sa.ForeignKeyConstraint(["pipeline_id"], ["pipelines.id"], name="fk_runs_pipeline_id", ondelete="CASCADE"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "run_steps",
        sa.Column("run_id", ID, nullable=False),
        sa.Column("name", NAME, nullable=False),
        sa.Column("position", sa.BigInteger(), nullable=False),
        sa.Column("kind", NAME, nullable=False),
        sa.Column("state", NAME, nullable=False),
        sa.Column("base", sa.BigInteger()),
        sa.Column("table_name", sa.Text()),
        sa.Column("location", NAME),
        sa.Column("version", sa.BigInteger()),
        sa.Column("rows", sa.BigInteger()),
        sa.Column("bytes", sa.BigInteger()),
        sa.Column("details", sa.JSON(), nullable=False),
        sa.Column("error", sa.Text()),
        sa.Column("began_at", sa.BigInteger()),
        sa.Column("ended_at", sa.BigInteger()),
        sa.PrimaryKeyConstraint("run_id", "name", name="pk_run_steps"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_run_steps_run_id", ondelete="CASCADE"),
    )
    op.create_index("ix_run_steps_location_version", "run_steps", ["location", "version"])
    op.create_table(
        "run_reads",
        sa.Column("run_id", ID, nullable=False),
        sa.Column("step", NAME, nullable=False),
        sa.Column("source", NAME, nullable=False),
        sa.Column("kind", NAME, nullable=False),
        sa.Column("table_name", sa.Text()),
        sa.Column("location", NAME),
        sa.Column("after", sa.BigInteger(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("run_id", "step", "source", name="pk_run_reads"),
        sa.ForeignKeyConstraint(
            ["run_id", "step"],
            ["run_steps.run_id", "run_steps.name"],
            name="fk_run_reads_run_id_step",
            ondelete="CASCADE",
        ),
    )
    op.create_index("ix_run_reads_location", "run_reads", ["location"])
    op.create_table(
        "run_files",
        sa.Column("id", ID, nullable=False),
        sa.Column("pipeline_id", ID, nullable=False),
        sa.Column("source", NAME, nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("modified", sa.BigInteger(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("since", sa.BigInteger(), nullable=False),
        sa.Column("gone", sa.BigInteger()),
        sa.PrimaryKeyConstraint("id", name="pk_run_files"),
        sa.ForeignKeyConstraint(["pipeline_id"], ["pipelines.id"], name="fk_run_files_pipeline_id", ondelete="CASCADE"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_run_files_pipeline_id_source_since", "run_files", ["pipeline_id", "source", "since"])
