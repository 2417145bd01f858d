"""Hati's own kinds of studies: what each is asked, and how it is prepared, restored and reported.

Each module is light: a command line loads all of them, and what they need only where it is of use.
"""
