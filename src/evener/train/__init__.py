"""Fill an architecture with weights and write it as ONNX.

Reads a dataset, makes a network and its card.
"""
