"""`python -m tau` is the command `tau`."""

import sys

from tau.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
