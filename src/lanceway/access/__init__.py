"""Who asks, and may they: principals, tokens, and the identities that others vouch for."""
