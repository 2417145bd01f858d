"""Benchmarks of Hati's own speed and accuracy, compared with peers: repeated, with medians."""
