"""Start the command line as `python -m evener`."""

from evener.cli.main import main

if __name__ == "__main__":
    main()
