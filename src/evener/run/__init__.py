"""Run a plan on frames: answers in order, and a trace of how fast they came.

Start with `pipeline.py`. `compare.py` runs several side by side; `equality.py` holds one against
the unsplit network. A network's state is kept by the lane that needs it (`wiring.py`), whose frames
come in order (`order.py`).
"""
