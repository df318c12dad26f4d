"""The Lance REST dialect."""
