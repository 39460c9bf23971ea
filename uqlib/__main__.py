"""`python -m uqlib`: run the notebooks, refresh their stored outputs, export their figures."""

import sys

from uqlib.commands import main

sys.exit(main())
