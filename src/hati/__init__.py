"""Hati: which options decide a program's performance, and whether it changed.

Start with ``hati --help``; the rooms are listed in ``docs/explanation/architecture.md``.
"""
