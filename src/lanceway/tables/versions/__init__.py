"""Versions: manifests, commits, transactions, tags, branches."""
