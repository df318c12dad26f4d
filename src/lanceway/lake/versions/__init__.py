"""Versions of managed tables: claims, published manifests, orphans, checks."""
