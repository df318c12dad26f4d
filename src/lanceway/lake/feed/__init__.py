"""The feed: an event for each change, written with the change, and read in an order that never changes."""
