"""Read Lance tables in Spark: plan in the driver, read in tasks."""
