"""The lake's SQL store: nested namespaces, tables, versions and who owns them.

It knows rows and transactions, on SQLite and PostgreSQL alike; it knows neither requests nor storage.
`store.py` opens a database. The other modules are functions over a connection of one of its
transactions, one module for each kind of row; they take identifiers and plain values and give small
frozen values back. What a function raises ends the transaction that it was called in.
"""
