"""The web console: static pages over the public REST interfaces, without a build step and without third-party code."""
