"""Stands in for another processor: with this folder on PYTHONPATH, `torch.optim` moves the float64 weights it is given.

Each entry w of each parameter moves by +-SIZE (1 + |w|), SIZE from UQLIB_PERTURB, with fixed pseudo-random signs. Python
imports this file by its name at start, so no notebook is touched.
"""

import importlib.machinery
import os
import sys

SIZE = float(os.environ.get("UQLIB_PERTURB", "0"))


def perturb(optimizer_module):
    """Make every optimiser perturb its parameters once, when it is built."""
    optimizer = optimizer_module.Optimizer
    plain = optimizer.__init__

    def perturbing(self, params, *arguments, **options):
        import torch  # half loaded when `perturb` runs

        generator = torch.Generator().manual_seed(0)
        params = list(params)
        with torch.no_grad():
            for p in params:
                if isinstance(p, torch.Tensor) and p.dtype == torch.float64:
                    signs = 2 * torch.randint(2, p.shape, generator=generator, dtype=p.dtype) - 1
                    p += SIZE * (1 + p.abs()) * signs.to(p.device)
        plain(self, params, *arguments, **options)

    optimizer.__init__ = perturbing


class AfterImport:
    """Patches `torch.optim.optimizer` once it is loaded, so that processes without torch do not pay for it."""

    def find_spec(self, name, path=None, target=None):
        """Find the module as usual, and add the patch to its loader."""
        if name != "torch.optim.optimizer":
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        load = spec.loader.exec_module
        spec.loader.exec_module = lambda module: (load(module), perturb(module))
        return spec


if SIZE:
    sys.meta_path.insert(0, AfterImport())
