"""Formulas: loaded from files, their methods measured or read from a store."""
