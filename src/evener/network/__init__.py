"""A network and what can be said of it: its blocks and legal cuts, its cost, its segments.

`model.py` loads one: `source.py` reads the bytes, `normalise.py` brings the graph into one form,
`shapes.py` and `fold.py` make its shapes static, `fixed.py` and `branches.py` settle what it
decides by them, `state.py` says what goes from frame to frame, and `light.py` draws weights for
the networks that need no file. `blocks.py` cuts it, by way of `graph.py` and `cost.py`; `split.py`
writes the segments, by way of `proto.py`. `cuts.py` reads cuts that a user names, and `explain.py`
says why there are no others. Start with `blocks.py`; frames to run come from `frames.py`.
"""
