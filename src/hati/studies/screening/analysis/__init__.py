"""From the runs of a screening to its effects."""
