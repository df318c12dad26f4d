"""What belongs to a table beside its versions: tags, branches, and definitions of views and columns."""
