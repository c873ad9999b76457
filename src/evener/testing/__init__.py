"""Contract suites for whoever adds a runtime or a channel."""
