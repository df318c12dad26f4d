"""Runs of pipelines: where they are recorded, and what is known of them."""
