"""The feasibility study of the RES paper, repeated on two systems with measurements of all configurations.

``python -m examples.study measure`` measures every configuration of the SQLite example and writes them as a table;
``analyse`` repeats the paper's analysis on the tables, with Hati's designs, studies and suites; ``write`` writes the
page of the results. Without a word all three steps are done: ``make study``.
"""
