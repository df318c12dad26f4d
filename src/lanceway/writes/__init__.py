"""The distributed write protocol over any catalog: tasks write files, one process commits them.

The walk of a write, by module:

1. `table_ref`: a `TableRef` says which table, in a form that every process can reach it from. `ref.destination()` looks
   up where a write to it goes; a name that is free is declared first, with `ref.declare()`.
2. `plan`: in the driver, `plan()` chooses by the mode and by what is there, and returns a `WritePlan`: append,
   overwrite, create or ignore, the version it builds on, and the schema of the table once the write is done.
3. `journal`: the plan opens an entry in the table's folder that says the write is under way.
4. `stage`: each task casts its rows (`casting`), writes them as fragments that no version has yet, and notes their
   files in the journal. Fragments travel to the driver as JSON.
5. `commit`: the driver makes all fragments one version, or gives the write up; either way it closes the journal entry,
   and with it goes every file that did not become part of the table.
6. `write_id`: the commit carries a `WriteId`, so that a write which is tried again finds out that it has happened.

`deletions` says which rows of a version go. `additions` and `column_identity` read what earlier writes did: the
fragments that versions add, and the columns that they leave alone. `options` has the options of `format("lance")`.
"""
