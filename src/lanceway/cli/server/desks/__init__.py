"""Where the verbs about users, rights and catalogs work: on a server's database, or with a server over HTTP."""
