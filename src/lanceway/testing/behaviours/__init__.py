"""Groups of conformance tests, one for each kind of behaviour."""
