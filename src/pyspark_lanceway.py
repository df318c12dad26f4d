"""The name that Spark looks for: it finds `format("lance")` here by itself."""

from lanceway.spark.source import DefaultSource as DefaultSource
