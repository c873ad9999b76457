"""The whole flow, joined from the verbs: what the command line and Python callers use."""
