"""`/lanceway/v1/catalogs` and `schemas`: the catalogs of the tree, and namespaces by logical paths."""
