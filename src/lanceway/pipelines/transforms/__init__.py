"""Transforms and expectations of a pipeline."""
