"""Losses against torch.distributions, torch.nn and gradients by hand."""

import math

import pytest
import torch
from torch.distributions import Normal

from uqlib import losses, runtime


@pytest.fixture
def case():
    generator = runtime.seed(0)
    mean, y, log_std = (torch.randn(6, 3, generator=generator) for _ in range(3))
    return mean, y, log_std


def test_squared_error(case):
    mean, y, _ = case
    torch.testing.assert_close(losses.squared_error(mean, y), 3 * torch.nn.functional.mse_loss(mean, y))


def test_gaussian_nll_is_the_negative_log_density(case):
    mean, y, log_std = case
    expected = -Normal(mean, log_std.exp()).log_prob(y).sum(-1).mean()
    torch.testing.assert_close(losses.gaussian_nll(mean, y, log_std=log_std), expected)
    torch.testing.assert_close(losses.gaussian_nll(mean, y, std=log_std.exp()), expected)


def test_one_output_agrees_with_torch(case):
    mean, y, log_std = (part[:, :1] for part in case)
    theirs = torch.nn.functional.gaussian_nll_loss(mean, y, (2 * log_std).exp(), full=True, eps=1e-300)
    torch.testing.assert_close(losses.gaussian_nll(mean, y, log_std=log_std), theirs)


def test_three_ways_to_give_the_same_std(case):
    """Fixed, learnt and input-dependent noise must be comparable on one axis: the same constant."""
    mean, y, _ = case
    fixed = losses.gaussian_nll(mean, y, std=0.5)
    torch.testing.assert_close(fixed, losses.gaussian_nll(mean, y, log_std=torch.tensor(0.5).log()))
    torch.testing.assert_close(fixed, losses.gaussian_nll(mean, y, log_std=torch.full_like(mean, math.log(0.5))))
    torch.testing.assert_close(fixed, losses.gaussian_nll(mean, y, std=torch.full_like(mean, 0.5)))


def test_not_a_variance():
    """std 2 at a residual of 2; 2.430233 would mean that the variance 4 was taken for the std."""
    loss = losses.gaussian_nll(torch.zeros(1, 1), torch.full((1, 1), 2.0), std=2.0)
    assert loss.item() == pytest.approx(2.112086, abs=1e-6)


def test_shared_std_counts_every_output():
    """The log determinant of k outputs is k log std, not log std."""
    loss = losses.gaussian_nll(torch.zeros(2, 3), torch.zeros(2, 3), std=0.1)
    assert loss.item() == pytest.approx(3 * (0.5 * math.log(2 * math.pi) + math.log(0.1)))


def test_learnt_std_ends_at_the_rms_residual():
    y = torch.randn(50, 1, generator=runtime.seed(2))
    log_std = y.square().mean().sqrt().log().requires_grad_()
    (slope,) = torch.autograd.grad(losses.gaussian_nll(torch.zeros_like(y), y, log_std=log_std), log_std)
    assert abs(slope) < 1e-14


def test_gradients_by_hand(case):
    mean, y, log_std = (part.clone().requires_grad_() for part in case)
    residual = y - mean
    for_mean, for_log_std = torch.autograd.grad(losses.gaussian_nll(mean, y, log_std=log_std), (mean, log_std))
    torch.testing.assert_close(for_mean, -residual / (2 * log_std).exp() / 6)
    torch.testing.assert_close(for_log_std, (1 - residual.square() / (2 * log_std).exp()) / 6)


@pytest.mark.parametrize("beta", [0.0, 0.5, 1.0])
def test_beta_nll_holds_its_weight_constant(case, beta):
    mean, y, log_std = (part.clone().requires_grad_() for part in case)
    residual, variance = (y - mean).detach(), (2 * log_std).exp().detach()
    loss = losses.beta_nll(mean, y, log_std=log_std, beta=beta)
    expected = variance**beta * -Normal(mean, log_std.exp()).log_prob(y)
    torch.testing.assert_close(loss, expected.sum(-1).mean())
    for_mean, for_log_std = torch.autograd.grad(loss, (mean, log_std))
    torch.testing.assert_close(for_mean, -(variance ** (beta - 1)) * residual / 6)
    torch.testing.assert_close(for_log_std, variance**beta * (1 - residual.square() / variance) / 6)


def test_log_prior_is_a_sum_over_parameters():
    weights = [torch.randn(shape, generator=runtime.seed(3)) for shape in ((3, 2), (2,))]
    prior = Normal(0.0, 1 / math.sqrt(5.0))
    expected = sum(prior.log_prob(w).sum() for w in weights)
    torch.testing.assert_close(losses.log_prior(iter(weights), 5.0), expected)


def test_losses_run_under_vmap_and_hessian(case):
    mean, y, log_std = case
    stacked = torch.stack([mean, mean + 1])
    many = torch.vmap(lambda m: losses.gaussian_nll(m, y, log_std=log_std))(stacked)
    torch.testing.assert_close(many[1], losses.gaussian_nll(mean + 1, y, log_std=log_std))
    curvature = torch.func.hessian(lambda m: losses.gaussian_nll(m, y, std=0.5))(mean).reshape(18, 18)
    torch.testing.assert_close(curvature, torch.eye(18) / 0.25 / 6)


COLUMN = torch.zeros(3, 1, dtype=torch.float64)


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: losses.squared_error(COLUMN, COLUMN[:, 0]), ValueError, r"y: expected shape \(n, k\), got \(3,\)"),
        (lambda: losses.squared_error(COLUMN, COLUMN.T), ValueError, r"\(3, 1\) but y has shape \(1, 3\)"),
        (lambda: losses.gaussian_nll(COLUMN[:, 0], COLUMN, std=1.0), ValueError, r"mean: expected shape \(n, k\)"),
        (lambda: losses.gaussian_nll(COLUMN, COLUMN), ValueError, "exactly one of std=... or log_std=..."),
        (lambda: losses.gaussian_nll(COLUMN, COLUMN, std=1.0, log_std=0.0), ValueError, "exactly one"),
        (lambda: losses.gaussian_nll(COLUMN, COLUMN, std=0.0), ValueError, "std: expected a finite number above 0"),
        (lambda: losses.gaussian_nll(COLUMN, COLUMN, std=-1.0), ValueError, "std: expected a finite number above 0"),
        (lambda: losses.gaussian_nll(COLUMN, COLUMN, std=torch.ones(3)), ValueError, r"std has shape \(3,\) but mean"),
        (lambda: losses.gaussian_nll(COLUMN, COLUMN, log_std="0"), TypeError, "log_std: expected a number"),
        (lambda: losses.gaussian_nll(COLUMN, COLUMN.float(), std=1.0), TypeError, "y is torch.float32 but mean is"),
        (lambda: losses.beta_nll(COLUMN, COLUMN, log_std=0.0, beta=2.0), ValueError, "beta: expected a number"),
        (lambda: losses.log_prior([], 1.0), ValueError, "parameters: expected at least one tensor"),
        (lambda: losses.log_prior([COLUMN], -1.0), ValueError, "prior_precision: expected a finite number above 0"),
    ],
)
def test_refuses(call, error, words):
    with pytest.raises(error, match=words):
        call()
