"""Performance logic: requirements on performance as formulas (seed 004, sections 3 and 5).

``syntax`` reads formulas as frozen trees that print canonically; ``interpret`` says what measurements make of them.
"""
