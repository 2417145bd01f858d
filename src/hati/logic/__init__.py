"""The performance logic (seed 004): what is required of performance, as formulas, and what measurements say of them."""
