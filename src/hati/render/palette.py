"""Colours that colour-blind readers can tell apart, and that stand out on white and on dark grey (Okabe and Ito 2008).

Colour is never the only sign: what is important also differs in shape or is labelled.
"""

IMPORTANT = "#d55e00"
ALIASED = "#cc79a7"
NOT_SHOWN = "#8b95a1"
FIRST = "#0072b2"
SECOND = "#e69f00"
RULE = "#009e73"
REPETITIONS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8b95a1", "#f0e442")
INK = "#24292f"
GRID = "#e3e7ec"
