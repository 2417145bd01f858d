"""Performance logic: requirements on performance as formulas (SPL paper, sections 3 and 5).

``syntax`` reads formulas as frozen trees that print canonically; ``interpret`` gives their verdicts from measurements.
"""
