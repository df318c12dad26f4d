"""The worker: takes background jobs from a lake's database and carries them out, one at a time.

places      where the table of a job lies, and who acts
holding     the lease on a job, renewed while it runs
allowed     which functions may be run here
backfills   columns filled
views       rows of materialized views, by the version of their source
changed     what became of a source's rows between two versions
writing     rows written to a view, and the version that they show
loop        one job after the other, until it is told to stop
"""
