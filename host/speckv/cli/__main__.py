"""`python -m speckv.cli`."""

import sys

from speckv.cli.entry import main

sys.exit(main())
