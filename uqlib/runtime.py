"""Where the numbers are computed, and how random numbers are drawn so that they are the same everywhere."""

import numbers
import os
import platform

import torch

_CHOICES = "auto, cpu, cuda, cuda:0 (or another index) or mps"


def device() -> torch.device:
    """The device named by the environment variable UQLIB_DEVICE: auto (default), cpu, cuda, cuda:1 or mps.

    `auto` is CUDA where there is one and the CPU elsewhere. It is never mps, which has no float64, the dtype of
    this series. Asking for a device that is not there is an error, never a silent run on the CPU.

    Raises
    ------
    ValueError
        If UQLIB_DEVICE is none of the known names.
    RuntimeError
        If the device is not there (or, for mps, if the default dtype is float64).
    """
    wanted = os.environ.get("UQLIB_DEVICE", "").strip().lower() or "auto"
    if wanted == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    kind, _, index = wanted.partition(":")
    if kind not in ("cpu", "cuda", "mps") or (":" in wanted and not (kind == "cuda" and index.isdecimal())):
        raise ValueError(f"UQLIB_DEVICE={wanted!r}: expected {_CHOICES}")
    if kind == "cuda" and not torch.cuda.is_available():
        raise RuntimeError(f"UQLIB_DEVICE={wanted}: no CUDA device is visible to torch {torch.__version__}; use cpu")
    if kind == "cuda" and index and int(index) >= torch.cuda.device_count():
        raise RuntimeError(f"UQLIB_DEVICE={wanted}: only {torch.cuda.device_count()} CUDA device(s) here")
    if kind == "mps":
        if not torch.backends.mps.is_available():
            raise RuntimeError("UQLIB_DEVICE=mps: no mps device is visible to torch; use cpu")
        if torch.get_default_dtype() == torch.float64:
            raise RuntimeError("UQLIB_DEVICE=mps: mps has no float64, the default dtype here; use cpu, or float32")
    return torch.device(wanted)


def seed(n: int) -> torch.Generator:
    """A new CPU generator started at `n`. Hand it to whatever draws; no global generator is touched.

    Data and initial weights are drawn on the CPU and then moved: a CUDA generator with the same seed would give
    other numbers. Raises TypeError unless `n` is a whole number, ValueError if it is negative or 2**63 and more.
    """
    if isinstance(n, bool) or not isinstance(n, numbers.Integral):
        raise TypeError(f"seed: expected a whole number, got {n!r}")
    if not 0 <= n < 2**63:
        raise ValueError(f"seed: expected a whole number from 0 to 2**63 - 1, got {n}")
    return torch.Generator(device="cpu").manual_seed(int(n))


def environment() -> dict[str, str]:
    """What a report of a different number should say: versions, device, dtype, threads. Prints nothing."""
    return {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "device": str(device()),
        "dtype": str(torch.get_default_dtype()),
        "threads": str(torch.get_num_threads()),
        "machine": f"{platform.system()} {platform.machine()}",
    }
