"""Runs of pipelines and background jobs, as the database records them."""
