"""How the conclusion of a screening is put together, and what it warns of."""
