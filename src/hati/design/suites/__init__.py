"""Few configurations that stand for a whole space."""
