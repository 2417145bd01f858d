"""Samples: their variances, differences, clusters, and weighted means."""
