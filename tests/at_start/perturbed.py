"""Stands in for another processor: with UQLIB_PERTURB=SIZE, `torch.optim` moves the weights that it is given.

Each float64 entry w moves by +-SIZE (1 + |w|), with fixed pseudo-random signs.
"""

import importlib.machinery
import os
import sys

SIZE = 0.0


def perturb(module):
    """Make the module's optimiser class, and its functional Adam, perturb their parameters once, at the start."""
    if hasattr(module, "Optimizer") and module.__name__.endswith("optimizer"):
        plain_init = module.Optimizer.__init__

        def init(self, params, *arguments, **options):
            params = list(params)
            move(params)
            plain_init(self, params, *arguments, **options)

        module.Optimizer.__init__ = init
    else:
        plain_adam = module.adam

        def adam(params, grads, firsts, seconds, maxima, steps, *arguments, **options):
            if steps[0] == 0:
                move(params)
            return plain_adam(params, grads, firsts, seconds, maxima, steps, *arguments, **options)

        module.adam = adam


def move(params):
    """Add +-SIZE (1 + |w|) to each float64 entry."""
    import torch

    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for p in params:
            if isinstance(p, torch.Tensor) and p.dtype == torch.float64:
                signs = 2 * torch.randint(2, p.shape, generator=generator, dtype=p.dtype) - 1
                p += SIZE * (1 + p.abs()) * signs.to(p.device)


class AfterImport:
    """Patches the modules once they are loaded, so that processes without torch do not pay for it."""

    def find_spec(self, name, path=None, target=None):
        """Find the module as usual, and add the patch to its loader."""
        if name not in ("torch.optim.optimizer", "torch.optim.adam"):
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        load = spec.loader.exec_module
        spec.loader.exec_module = lambda module: (load(module), perturb(module))
        return spec


def start():
    """Move weights in this process, if a size is given."""
    global SIZE
    asked = os.environ.get("UQLIB_PERTURB", "") or "0"
    try:
        SIZE = float(asked)
    except ValueError:  # Python would go on after any other exception here
        raise SystemExit(f"UQLIB_PERTURB: expected a number such as 1e-10, got {asked!r}") from None
    if SIZE:
        sys.meta_path.insert(0, AfterImport())
