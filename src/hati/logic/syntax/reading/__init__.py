"""From what Lark read to frozen trees: names are looked up, and what does not fit is refused at its place."""
