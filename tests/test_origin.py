"""The published figures of the notebook that this course began with, reproduced with our own nets and losses.

Float32 and a constant rate, as there: the tolerances are what other kernels change. Every other test and notebook
uses float64 and a decayed rate.
"""

import pytest
import torch

from uqlib import datasets, losses, models, training

GENERATOR = torch.default_generator  # the origin seeded the global generator; its state is given back below


@pytest.fixture
def float32():
    """The origin's dtype, and the global generator as it was, afterwards."""
    state, dtype = torch.get_rng_state(), torch.get_default_dtype()
    torch.set_default_dtype(torch.float32)
    yield
    torch.set_default_dtype(dtype)
    torch.set_rng_state(state)


def mlp(width, outputs):
    return models.MLP(1, (width, width), outputs, generator=GENERATOR, activation=torch.relu)


def mean_and_noise_nll(net, x, y):
    mean, log_std = net(x)
    return losses.gaussian_nll(mean, y, log_std=log_std)


def test_likelihood_figures(float32):
    torch.manual_seed(42)
    x, y = datasets.toy("heteroskedastic").training(n=100, generator=GENERATOR)

    fixed = mlp(4, 1)
    curve = training.fit(
        lambda x, y: losses.gaussian_nll(fixed(x), y, std=0.5),
        fixed.parameters(), (x, y), steps=1000, lr=1e-3, schedule="constant",
    ).train  # fmt: skip
    assert curve[0] == pytest.approx(0.668, abs=2e-3)
    assert curve[950] == pytest.approx(0.344, abs=2e-3)

    learnt = models.LearntNoise(mlp(4, 1))
    curve = training.fit(
        lambda x, y: mean_and_noise_nll(learnt, x, y),
        learnt.parameters(), (x, y), steps=1000, lr=1e-2, schedule="constant",
    ).train  # fmt: skip
    assert curve[0] == pytest.approx(0.971, abs=2e-3)
    assert curve[950] == pytest.approx(-0.063, abs=2e-3)

    net = models.MeanNoiseNet(mlp(10, 2))
    curve = training.fit(
        lambda x, y: mean_and_noise_nll(net, x, y),
        net.parameters(), (x, y), steps=1000, lr=1e-2, schedule="constant",
    ).train  # fmt: skip
    assert curve[0] == pytest.approx(0.849, abs=2e-3)
    assert curve[950] == pytest.approx(-0.602, abs=5e-3)
    assert mean_and_noise_nll(net, x, y).item() == pytest.approx(-0.608, abs=1.5e-2)


def test_map_figures(float32):
    """Summed NLL plus negative log prior, std 0.2, N(0, 1) on every weight and bias, width 10."""
    torch.manual_seed(42)
    x, y = datasets.toy("heteroskedastic").training(n=100, generator=GENERATOR)
    torch.manual_seed(3)
    net = mlp(10, 1)

    def negative_log_joint(x, y):
        return len(x) * losses.gaussian_nll(net(x), y, std=0.2) - losses.log_prior(net.parameters(), 1.0)

    curve = training.fit(negative_log_joint, net.parameters(), (x, y), steps=1000, lr=1e-2, schedule="constant").train
    assert curve[0] == pytest.approx(439.90, abs=1e-2)
    # Published 121.64; in float32 at a constant rate the end depends on the kernel: 118.8 to 121.9 were seen.
    assert 110 < negative_log_joint(x, y).item() < 130
