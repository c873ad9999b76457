"""The nouns: small frozen values that the verbs read and make, each also one file.

Start with `plan.py`, the shortest that carries weight; `files.py` writes and reads them all.
"""
