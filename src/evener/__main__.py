"""Start the command line as `python -m evener`."""

import sys

from evener.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
