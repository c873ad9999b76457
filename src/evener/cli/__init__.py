"""The command line: one file per verb, each parses, calls and prints.

`main.py` finds the verbs and is the one place where errors become exit codes. Start with
`processors.py`, the shortest verb.
"""
