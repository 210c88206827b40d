"""`python -m pdj`."""

import sys

from pdj.main import main

if __name__ == "__main__":
    sys.exit(main())
