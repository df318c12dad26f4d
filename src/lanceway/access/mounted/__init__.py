"""Mounted catalogs: what a caller is shown of them, and whether their objects are still those that were granted."""
