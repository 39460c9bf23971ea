"""Fixtures for all tests: the series' dtype, and a check that nothing global has moved."""

import os

import matplotlib
import numpy
import pytest
import torch


@pytest.fixture(autouse=True)
def unchanged_world():
    """Every test runs in float64 and must leave rcParams, generators, grad mode, threads and environment alone."""
    torch.set_default_dtype(torch.float64)
    before = _world()
    yield
    for name, (old, new) in {k: (before[k], _world()[k]) for k in before}.items():
        assert old == new, f"{name} was changed"
    torch.set_default_dtype(torch.float32)


def _world():
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "TORCHINDUCTOR_"))}
    return {
        "rcParams": dict(matplotlib.rcParams),
        "torch generator": torch.get_rng_state().tolist()[:64],
        "numpy generator": [*numpy.random.get_state()[1][:8].tolist(), numpy.random.get_state()[2]],  # noqa: NPY002
        "grad mode": torch.is_grad_enabled(),
        "threads": torch.get_num_threads(),
        "dtype": torch.get_default_dtype(),
        "environment": environment,
    }
