"""A network and what can be said of it.

Its blocks and legal cuts, its cost, and its segments as networks of their own.
"""
