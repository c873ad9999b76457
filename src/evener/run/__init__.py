"""Run a plan over frames: stages, lanes, credits, order; makes outputs and a trace."""
