"""`python -m hlsc`."""

import sys

from .cli import main

sys.exit(main())
