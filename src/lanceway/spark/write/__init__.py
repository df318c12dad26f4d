"""Write Lance tables from Spark: tasks write files, the driver commits."""
