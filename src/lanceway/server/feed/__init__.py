"""The feed over HTTP: pages of events, and waiting for the next one."""
