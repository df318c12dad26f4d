"""`/lanceway/v1`: tokens, jobs, runs and lineage, which no dialect has."""
