"""Jobs between catalogs: crawl, sync, migrate."""
