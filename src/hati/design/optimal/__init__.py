"""Designs of valid configurations that tell most about a linear model."""
