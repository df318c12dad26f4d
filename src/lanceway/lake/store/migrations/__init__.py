"""The steps that make the tables of `schema.py`, in order. A step that has been released never changes."""
