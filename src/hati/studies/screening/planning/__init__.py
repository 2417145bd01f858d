"""Which runs a screening makes: pilots, design, and what these promise."""
