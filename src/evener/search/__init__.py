"""Propose architectures and choose among them; reads requirements and scores, makes a front."""
