"""Two-level designs, from full factorials to fractions, and what their effects are aliased with."""
