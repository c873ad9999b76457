"""Run a plan on frames: answers in order, and a trace of how fast they came.

Start with `pipeline.py`. `compare.py` runs several side by side; `equality.py` holds one against
the unsplit network.
"""
