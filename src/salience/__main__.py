"""`python -m salience` is the command line."""

from salience.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
