"""Jobs on one table: compact, clean, index, backfill, deduplicate, export, import."""
