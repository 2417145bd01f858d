"""Covering arrays: every valid combination of the settings of a few options occurs in a run."""
