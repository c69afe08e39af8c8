"""`python -m memlog`: the same as the `memlog` command."""

import sys

from memlog.cli import main

if __name__ == "__main__":
    sys.exit(main())
