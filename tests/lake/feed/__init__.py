"""Tests of the feed."""
