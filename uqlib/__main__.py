"""`python -m uqlib`: run the notebooks, refresh their stored outputs, export their figures."""

import os
import sys

from uqlib.commands import main

try:
    code = main()
    sys.stdout.flush()  # here, where a reader that has gone away can still be noticed
except BrokenPipeError:  # `python -m uqlib list | head -1` has read enough
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    code = 1
sys.exit(code)
