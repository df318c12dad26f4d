"""Administration of rights, for the API and the command line: groups, roles, grants, owners, and questions on them."""
