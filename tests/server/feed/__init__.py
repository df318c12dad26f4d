"""Tests of the feed over HTTP."""
