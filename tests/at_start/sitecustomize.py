"""Python imports this file by its name at start where this folder is on PYTHONPATH, so no notebook is touched.

UQLIB_MEASURE=1 has each figure measured, UQLIB_PERTURB=1e-10 moves the initial weights; nothing happens without.
"""

import measured
import perturbed

measured.start()
perturbed.start()
