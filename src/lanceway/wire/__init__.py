"""Wire protocols as data: routes, bodies and error envelopes, for client and server alike."""
