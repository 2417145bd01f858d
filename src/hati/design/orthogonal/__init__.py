"""Orthogonal arrays of factors with any numbers of settings."""
