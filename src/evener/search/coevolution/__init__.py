"""The paper's Algorithm 1, line by line: grow, encode, evolve with weights, prune; see `algorithm`.

`artifacts.table1` holds its settings, `growth` develops networks, `chromosome` ties genomes to
weight sets, `tree` says in which order connections are tried, `trace` names each line.
"""
