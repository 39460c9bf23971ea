"""What the two pages that compute in the browser start from: data, means and features, from fixed seeds."""

import json

import torch

from uqlib import datasets, runtime

STEPS = 200  # places of each slider, less one
STDS = (0.05, 1.0)  # of the first slider, on a log scale
PRECISIONS = (1e-4, 1e4)  # of the second
NOISE_STD = 0.2


def fixed_mean() -> dict[str, torch.Tensor]:
    """A hundred points and a mean that stays: the least-squares cubic."""
    x, y = _toy(100)
    grid = torch.linspace(-1, 1, 81, dtype=torch.float64)[:, None]
    weights = torch.linalg.lstsq(_powers(x), y).solution
    return {"x": x, "y": y, "mean": _powers(x) @ weights, "grid": grid, "curve": _powers(grid) @ weights}


def fixed_features() -> dict[str, torch.Tensor]:
    """Thirty points and eight features that stay: seven tanh steps, and ones for the bias."""
    x, y = _toy(30)
    grid = torch.linspace(-1.5, 1.5, 121, dtype=torch.float64)[:, None]
    return {"x": x, "y": y, "phi": _tanh_steps(x), "grid": grid, "curve": _tanh_steps(grid)}


def embedded(name: str, data: dict[str, torch.Tensor], ends: tuple[float, float]) -> str:
    """The data as JSON in a script element that no browser runs; columns of one number become lists of numbers.

    Six decimals: the page computes from these, and machines that round differently write the same page.
    """
    rounded = {key: value.round(decimals=6) for key, value in data.items()}
    content = {key: (value[:, 0] if value.shape[1] == 1 else value).tolist() for key, value in rounded.items()}
    content |= {"noise_std": NOISE_STD, "steps": STEPS, "low": ends[0], "high": ends[1]}
    return f'<script type="application/json" id="{name}">{json.dumps(content)}</script>'


def _toy(n: int) -> tuple[torch.Tensor, torch.Tensor]:
    x = torch.linspace(-1, 1, n, dtype=torch.float64)[:, None]
    return x, datasets.toy("homoskedastic").observe(x, runtime.seed(10))


def _powers(x: torch.Tensor) -> torch.Tensor:
    return torch.cat([x**power for power in range(4)], dim=1)


def _tanh_steps(x: torch.Tensor) -> torch.Tensor:
    centres = torch.linspace(-1, 1, 7, dtype=torch.float64)
    return torch.cat([torch.tanh(3 * (x - centres)), torch.ones_like(x)], dim=1)
