"""Tests and what they need: quantiles, corrections for many tests, power."""
