"""What pytest leaves out where an optional package is missing."""

from importlib.util import find_spec

# Modules that cannot be imported without it; their doctests and tests are skipped.
collect_ignore = [] if find_spec("mpi4py") else ["src/evener/comm/mpi.py"]
