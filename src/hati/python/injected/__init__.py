"""Code that runs in measured interpreters: standard library only, Python 3.9 and later.

``hati.python.benchmark`` puts these modules into one file, for interpreters without Hati. Hati itself imports the
decorators from here, too.
"""
