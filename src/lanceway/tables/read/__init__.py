"""Read rows: queries, searches, Arrow IPC."""
