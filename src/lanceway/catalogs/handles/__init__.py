"""What users hold in Python: contents by name, tables, searches and rows, over the contract's operations."""
