"""Output: for people and, with `--json`, for programs."""
