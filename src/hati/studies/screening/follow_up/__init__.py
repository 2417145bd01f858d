"""Runs after those of the design: flips of single options, and repetitions of suspect runs."""
