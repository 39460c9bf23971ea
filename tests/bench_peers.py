"""`make bench-peers`: the Laplace cases beside laplace-torch, in an environment of its own; one process, one thread.

laplace-torch reads a DataLoader. Its default path is measured that way, and its fastest (BackPACK, float32) also with
whole batches handed over ready-made, which a DataLoader that collates point by point never reaches. Ours is measured
on the tensors, and through the same DataLoader.
"""

import sys
from pathlib import Path

import torch
from torch.utils.data import BatchSampler, DataLoader, SequentialSampler, TensorDataset

sys.path.insert(0, str(Path(__file__).parents[1]))  # the course itself is not installed in the peer's environment

from bench_laplace import NOISE, measured, problem, row
from laplace import Laplace
from laplace.curvature import BackPackGGN

from uqlib import laplace

BATCH = 1024


def loader(phi, y, ready_made):
    data = TensorDataset(phi, y)
    if not ready_made:
        return DataLoader(data, batch_size=BATCH)
    return DataLoader(data, sampler=BatchSampler(SequentialSampler(data), BATCH, drop_last=False), batch_size=None)


def peer(phi, y, *, ready_made, **options):
    net = torch.nn.Sequential(torch.nn.Identity(), torch.nn.Linear(phi.shape[1], 1)).to(phi.dtype)
    settings = {"subset_of_weights": "last_layer", "hessian_structure": "full", "last_layer_name": "1"}
    posterior = Laplace(net, "regression", sigma_noise=NOISE, prior_precision=1.0, **settings, **options)
    posterior.fit(loader(phi, y, ready_made))
    posterior(phi[:1000])


def main():
    """Print the table."""
    torch.set_num_threads(1)
    print("last-layer Laplace, fit and predict on 1000 points: seconds, and MiB above the data")
    print(row(["n", "features", "ours", "through loader", "default", "ours faster", "backpack f32", "ours faster"]))
    for n, p in [(10_000, 50), (100_000, 50), (1_000_000, 50), (10_000, 512), (100_000, 512)]:
        torch.set_default_dtype(torch.float64)
        phi, y = problem(n, p)
        small = phi.float(), y.float()
        cells = []
        for job in (
            lambda: laplace.fit((phi, y), noise_std=NOISE).predict(phi[:1000]),  # noqa: B023
            lambda: laplace.fit(loader(phi, y, False), noise_std=NOISE).predict(phi[:1000]),  # noqa: B023
            lambda: peer(phi, y, ready_made=False),  # noqa: B023
            lambda: laplace.fit(small, noise_std=NOISE).predict(small[0][:1000]),  # noqa: B023
        ):
            job() if n == 10_000 else None  # first calls load code
            cells.append(measured(job, 1 if n == 1_000_000 else 2))
        torch.set_default_dtype(torch.float32)
        fastest = lambda: peer(*small, ready_made=True, backend=BackPackGGN)  # noqa: B023, E731
        fastest() if n == 10_000 else None
        cells.append(measured(fastest, 1 if n == 1_000_000 else 2))
        (a, am), (b, bm), (c, cm), (d, _), (e, em) = cells
        show = lambda s, m: f"{s:.3f}/{m:.0f}"  # noqa: E731
        print(row([f"{n:.0e}", p, show(a, am), show(b, bm), show(c, cm), f"{c / a:.0f}", show(e, em), f"{e / d:.1f}"]))


if __name__ == "__main__":
    sys.exit(main())
