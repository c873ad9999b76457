"""Find the processors and time segments on them; makes a profile."""
