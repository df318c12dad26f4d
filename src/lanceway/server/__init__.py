"""The server: every catalog under one root, for clients that speak Lance REST.

The way of a request, each step a module:

    run                 uvicorn, its processes and their end
    app                 all that is served, built from the settings
    http.middleware     request id, access log, metrics, errors
    http.hosts          the names that the server answers to
    http.auth           who asks
    lance.dialect       Lance REST: from route, query and body to the contract's request, and back
    api.routes          /lanceway/v1: tokens, jobs, runs and lineage
    threads             each catalog's own threads, with their limit and deadline
"""
