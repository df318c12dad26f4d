"""The server: every catalog under one root, for clients that speak Lance REST.

The way of a request, each step a module:

    run        uvicorn, its processes and their end
    protocol   HTTP, each short answer in one packet
    edge       request id, access log, metrics, errors
    hosts      the names that the server answers to
    auth       who asks
    lance      the dialect: from route, query and body to the contract's request, and back
    work       the catalog's own threads, with their limit and deadline
"""
