"""`Predictive` against torch.distributions, mpmath and counting by hand."""

import dataclasses
import math

import mpmath
import pytest
import torch
from torch.distributions import Normal

from uqlib import Predictive, runtime


@pytest.fixture
def prediction():
    generator = runtime.seed(0)
    draw = lambda: torch.rand(7, 2, generator=generator) + 0.1  # noqa: E731
    return Predictive(draw() - 0.5, draw(), draw())


@pytest.fixture
def y(prediction):
    return torch.randn(prediction.mean.shape, generator=runtime.seed(1))


def test_variances_add(prediction):
    expected = (prediction.aleatoric_std.square() + prediction.epistemic_std.square()).sqrt()
    torch.testing.assert_close(prediction.total_std, expected)
    assert Predictive(torch.zeros(1, 1), 3.0, 4.0).total_std.item() == 5.0


def test_scalars_are_expanded_once():
    prediction = Predictive(torch.zeros(4, 3), 0.2, torch.tensor(0.1))
    assert prediction.aleatoric_std.shape == prediction.epistemic_std.shape == (4, 3)
    assert Predictive(torch.zeros(2, 1), 0.2).epistemic_std.abs().max() == 0


def test_log_prob_is_the_normal_density(prediction, y):
    torch.testing.assert_close(prediction.log_prob(y), Normal(prediction.mean, prediction.total_std).log_prob(y))


def test_density_is_not_a_probability():
    """Narrow noise: a log density above zero is right and stays."""
    assert Predictive(torch.zeros(1, 1), 1e-2).log_prob(torch.zeros(1, 1)).item() == pytest.approx(3.686231, abs=1e-6)


@pytest.mark.parametrize("level", [0.1, 0.5, 0.6827, 0.9, 0.95, 0.999])
def test_interval_is_two_sided(prediction, level):
    z = float(mpmath.sqrt(2) * mpmath.erfinv(level))
    low, high = prediction.interval(level)
    torch.testing.assert_close(high - prediction.mean, z * prediction.total_std)
    torch.testing.assert_close(prediction.mean - low, z * prediction.total_std)


def test_coverage_counts():
    prediction = Predictive(torch.zeros(4, 1), 1.0)
    y = torch.tensor([0.0, 1.9, -1.97, 1.9599639845400536])[:, None]
    assert prediction.coverage(y, 0.95) == 0.75  # 1.96 covers all but -1.97; the edge counts as inside
    assert prediction.coverage(y, 0.9) == 0.25


def test_sample_has_the_stated_moments():
    prediction = Predictive(torch.full((200_000, 1), 2.0), 0.3, 0.4)
    draw = prediction.sample(runtime.seed(3))
    error = 0.5 / math.sqrt(200_000)
    assert abs(draw.mean().item() - 2) < 4 * error
    assert abs(draw.std().item() - 0.5) < 4 * error / math.sqrt(2)
    assert torch.equal(draw, prediction.sample(runtime.seed(3)))


def test_frozen(prediction):
    with pytest.raises(dataclasses.FrozenInstanceError):
        prediction.mean = torch.zeros(7, 2)


def test_repr_prints_no_tensor(prediction):
    assert repr(prediction) == "Predictive(points=7, outputs=2)"


COLUMN = torch.zeros(3, 1, dtype=torch.float64)


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ((torch.zeros(3), 1.0), ValueError, r"mean: expected shape \(n, k\), got \(3,\); use \[:, None\]"),
        ((torch.zeros(0, 1), 1.0), ValueError, "mean: expected at least one entry"),
        ((torch.zeros(3, 1, dtype=torch.long), 1.0), TypeError, "mean: expected a floating dtype, got torch.int64"),
        (([[0.0]], 1.0), TypeError, "mean: expected a torch.Tensor, got list"),
        ((COLUMN, torch.ones(3)), ValueError, r"aleatoric_std has shape \(3,\) but mean has shape \(3, 1\)"),
        ((COLUMN, torch.ones(1, 1)), ValueError, r"aleatoric_std has shape \(1, 1\)"),
        ((COLUMN, -0.1), ValueError, "aleatoric_std: expected a std >= 0, got -0.1; is this a log std"),
        ((COLUMN, math.nan), ValueError, "aleatoric_std: expected finite values, got nan at index"),
        ((COLUMN, 1.0, math.inf), ValueError, "epistemic_std: expected finite values, got inf"),
        ((COLUMN, 10**400), ValueError, "outside the range of torch.float64"),
        ((COLUMN, "wide"), TypeError, "aleatoric_std: expected a number or a torch.Tensor, got str"),
        ((COLUMN, torch.ones(3, 1, dtype=torch.float32)), TypeError, "aleatoric_std is torch.float32 but mean is"),
        ((COLUMN / 0, 1.0), ValueError, "mean: expected finite values"),
    ],
)
def test_refuses(arguments, error, words):
    with pytest.raises(error, match=words):
        Predictive(*arguments)


@pytest.mark.bad_input
@pytest.mark.parametrize("level", [0, 1, -0.1, 95, math.nan])
def test_refuses_levels(level):
    with pytest.raises(ValueError, match="level: expected a number strictly between 0 and 1"):
        Predictive(COLUMN, 1.0).interval(level)


@pytest.mark.bad_input
def test_refuses_targets_that_would_broadcast():
    for call in (lambda y: Predictive(COLUMN, 1.0).log_prob(y), lambda y: Predictive(COLUMN, 1.0).coverage(y, 0.5)):
        with pytest.raises(ValueError, match=r"y: expected shape \(n, k\), got \(3,\)"):
            call(torch.zeros(3))
        with pytest.raises(ValueError, match=r"y has shape \(1, 3\) but mean has shape \(3, 1\)"):
            call(torch.zeros(1, 3))
    with pytest.raises(ValueError, match="total std is 0 at 3 entries"):
        Predictive(COLUMN, 0.0).log_prob(COLUMN)


def test_rescale_is_the_prediction_in_other_units():
    generator = runtime.seed(0)
    mean, y = torch.randn(6, 2, generator=generator), torch.randn(6, 2, generator=generator)
    told = Predictive(mean, 0.3, 0.2)
    shift, scale = torch.tensor([[5.0, -1.0]]), torch.tensor([[48.3, 0.01]])
    moved = told.rescale(shift=shift, scale=scale)
    torch.testing.assert_close(moved.log_prob(scale * y + shift), told.log_prob(y) - scale.log())
    torch.testing.assert_close(moved.total_std**2, told.total_std**2 * scale**2)
    torch.testing.assert_close(moved.epistemic_std / moved.aleatoric_std, told.epistemic_std / told.aleatoric_std)
    assert moved.coverage(scale * y + shift, 0.5) == told.coverage(y, 0.5)
    torch.testing.assert_close(told.rescale(shift=1, scale=2.0).mean, 2 * mean + 1)


@pytest.mark.bad_input
def test_rescale_refuses():
    told = Predictive(torch.zeros(6, 2), 1.0)
    for shift, scale, error, message in (
        (0.0, 0.0, ValueError, "above 0"),
        (0.0, torch.tensor([[1.0, -2.0]]), ValueError, "above 0"),
        (torch.zeros(2), 1.0, ValueError, r"shape \(1, 2\)"),
        (torch.zeros(6, 2), 1.0, ValueError, r"shape \(1, 2\)"),
        (0.0, math.nan, ValueError, "finite"),
        ("a", 1.0, TypeError, "number"),
    ):
        with pytest.raises(error, match=message):
            told.rescale(shift=shift, scale=scale)
