"""Catalogs of this process as catalogs of Spark SQL, through a bridge into the JVM."""
