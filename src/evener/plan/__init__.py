"""Decide which blocks run where: pure, no clock, no device; reads a profile, makes a plan."""
