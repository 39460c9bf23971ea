"""Last-layer Laplace in one process and one thread: time, peak memory, share of the machine's own GEMM rate.

Part of `make bench`; with a peer's environment (`make bench-peers`) the same cases beside laplace-torch.
"""

import gc
import math
import sys
import time
from pathlib import Path

import torch

from uqlib import laplace, losses

NOISE = 0.2
SIZES = [(n, p) for p in (50, 512) for n in (10_000, 100_000, 1_000_000)]
LIMIT = 4 * 2**30  # bytes beyond which a path is not tried


def peak():
    """The largest resident memory since the last reset, in MiB; None where the system does not tell."""
    status = Path("/proc/self/status")
    if not status.exists():
        return None
    return int(status.read_text().split("VmHWM:")[1].split()[0]) / 1024


def reset():
    gc.collect()
    refs = Path("/proc/self/clear_refs")
    if refs.exists():
        refs.write_text("5")


def measured(job, times):
    """Least seconds of several calls, and MiB that the first needed above what was there before."""
    reset()
    before, start = peak(), time.perf_counter()
    job()
    seconds = [time.perf_counter() - start]
    used = None if before is None else peak() - before
    for _ in range(times - 1):
        start = time.perf_counter()
        job()
        seconds.append(time.perf_counter() - start)
    return min(seconds), used


def problem(n, p, dtype=torch.float64):
    generator = torch.Generator().manual_seed(0)
    phi = torch.randn((n, p), generator=generator, dtype=dtype)
    return phi, phi[:, :1] + 0.2


def gemm_rate():
    """Multiplications and additions a second of a large float64 product, the best of ten."""
    a = torch.randn((1500, 1500), dtype=torch.float64)
    a @ a
    seconds = []
    for _ in range(10):
        start = time.perf_counter()
        a @ a
        seconds.append(time.perf_counter() - start)
    return 2 * 1500**3 / min(seconds)


def ours(phi, y):
    laplace.fit((phi, y), noise_std=NOISE).predict(phi[:1000])


def by_hessian(phi, y):
    """What one writes without a package: autograd's Hessian of the last layer, its inverse, phi^T Sigma phi."""
    ones = torch.cat([phi, torch.ones_like(phi[:, :1])], dim=1)

    def loss(w):
        return len(phi) * losses.gaussian_nll(ones @ w[:, None], y, std=NOISE) - losses.log_prior([w], 1.0)

    cov = torch.linalg.inv(torch.func.hessian(loss)(torch.zeros(ones.shape[1], dtype=phi.dtype)))
    ((ones[:1000] @ cov) * ones[:1000]).sum(1).sqrt()


def row(values):
    return "".join(f"{'-' if v is None else v:>15}" for v in values)


def main():
    """Print the table."""
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    rate = gemm_rate()
    print(f"last-layer Laplace, fit and predict on 1000 points; this machine's float64 GEMM: {rate / 1e9:.0f} GFlop/s")
    print(row(["n", "features", "seconds", "MiB above", "GEMM share", "by hessian", "its MiB", "times as fast"]))
    ours(*problem(5000, 20)), by_hessian(*problem(5000, 20))  # first calls load code
    spent = {}
    for n, p in SIZES:
        phi, y = problem(n, p)
        times = 3 if n * p < 1e8 else 2
        seconds, memory = measured(lambda: ours(phi, y), times)  # noqa: B023
        share = n * p * (p + 1) / seconds / rate  # the symmetric half that is computed
        cells = [f"{n:.0e}", p, f"{seconds:.4f}", f"{memory:.0f}", f"{share:.2f}"]
        if 24 * n * (p + 1) < LIMIT:
            other, needed = measured(lambda: by_hessian(phi, y), 1)  # noqa: B023
            cells += [f"{other:.3f}", f"{needed:.0f}", f"{other / seconds:.0f}"]
        else:
            cells += ["no room", f"{24 * n * (p + 1) / 2**20:.0f}", None]
        print(row(cells), flush=True)
        spent[n, p] = seconds
    in_n, in_p = (
        math.log(spent[1_000_000, 512] / few) / math.log(ratio)
        for few, ratio in ((spent[10_000, 512], 100), (spent[1_000_000, 50], 512 / 50))
    )
    print(f"time grows with n to the {in_n:.2f} (512 features), with the features to the {in_p:.2f} (a million points)")


if __name__ == "__main__":
    sys.exit(main())
