"""Which pages the next decoding step will need: predicted from history, and from a guess of the next query."""
