"""Long work, at once or by a worker: `lanceway jobs …`, and verbs of `lanceway tables` and `lanceway catalogs`."""
