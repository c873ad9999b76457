"""What pytest leaves out where an optional package is missing."""

from importlib.util import find_spec

# Modules that cannot be imported without it; their doctests and tests are skipped.
_MPI = ["src/evener/comm/mpi.py", "src/evener/run/ranks.py"]
collect_ignore = [] if find_spec("mpi4py") else _MPI
