"""The planning of a screening's runs: pilots, the design, and the effects that it can detect."""
