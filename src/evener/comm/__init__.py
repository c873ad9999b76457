"""How stages and ranks talk: channels now, communicators for training."""
