"""What a measured interpreter runs: the standard library alone, Python 3.9 and later.

These modules go as one file into interpreters that know nothing of Hati (``hati.python.injection``). Hati itself
imports the decorators from here too.
"""
