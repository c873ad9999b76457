"""Prune networks by laws that hold exactly: what is dead, what must go together, what is confirmed.

`layers` describes a small network in plain arrays; `dead` drops what the answers do not need;
`vectors` prunes whole neurons, aligned over sums, `channels` those of convolutions; `toggling`
prunes links, rows or columns with a training in between, and `repair` keeps input and output
connected.
"""
