"""Train a whole population of networks in one batch; reads individuals and rows, makes weights.

What an individual is stands in `individual.py`, which of them share a batch in `buckets.py`, the
mathematics of one step in `passes.py` and `optimiser.py`; `training.py` joins them.
"""
