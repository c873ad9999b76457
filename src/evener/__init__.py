"""Evener: from a dataset or a trained network to a service that uses every processor."""

__version__ = "0.1.0"
