"""Files of rows: read, cast to a table's types, and written."""
