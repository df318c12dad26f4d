"""Catalogs around catalogs: forward every call, and change one thing."""
