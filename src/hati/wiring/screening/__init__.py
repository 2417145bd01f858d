"""Campaigns that screen a space, and what follows from a screening: recommendations, validations, suites."""
