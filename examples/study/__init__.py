"""The feasibility study of the RES paper, replayed on two systems all of whose configurations are measured.

``python -m examples.study measure`` measures every configuration of the SQLite example and writes them as a table;
``analyse`` does with the tables what the seed did with its own data, by the tool's designs, studies and suites;
``write`` makes the page of the results. Without a word all three are done: ``make study``.
"""
