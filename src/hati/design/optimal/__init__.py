"""Designs of valid configurations that are most informative about a linear model."""
