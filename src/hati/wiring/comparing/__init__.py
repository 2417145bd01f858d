"""Comparisons of variants, revisions and files, on this machine."""
