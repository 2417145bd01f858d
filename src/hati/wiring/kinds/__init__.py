"""Hati's own kinds of studies: their requests, and how each is prepared, restored and reported.

The modules import little: the command line loads all of them, and their dependencies only when they are used.
"""
