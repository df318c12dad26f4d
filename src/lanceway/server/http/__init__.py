"""HTTP around every dialect: middleware, authentication, limits, uploads and downloads, log, metrics."""
