"""Effects in linear models of designed experiments, and which of them are active."""
