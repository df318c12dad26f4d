"""`/lanceway/v1/storage`: what a server's storages do with credentials."""
