"""The worker: claims background jobs from a lake's database and runs them, one at a time.

catalogs    the catalogs in which the tables of jobs are
lease       the lease on a job, renewed while it runs
backfills   computed columns, filled
views       materialized views, refreshed
rows        the rows of a view, computed in shares
write       rows written to a view, and the version of the source that they show
loop        one job after the other, until the worker is stopped
supervisor  a worker process beside a server
"""
