"""Search a project, as a program of its own that may be killed: search_program.py PROJECT."""

import sys
from pathlib import Path

from evener.workflow.search import search_project

if __name__ == "__main__":
    search_project(Path(sys.argv[1]))
