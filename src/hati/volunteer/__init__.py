"""A volunteer's client: claims batches over HTTPS, runs them in a sandbox, and returns their results.

Standard library only, Python 3.9 and later: ``zipapp`` puts these modules into one file, for machines without Hati.
A server is trusted with nothing that could become a program: commands come from releases that their owner signed.
"""
