"""Scores against scoringrules, integrals and values worked out by hand."""

import math

import numpy as np
import pytest
import scoringrules
import torch

from uqlib import Predictive, losses, metrics, runtime

N, K = 40, 2


def case(seed=0):
    generator = runtime.seed(seed)
    draw = lambda: torch.randn(N, K, generator=generator)  # noqa: E731
    return Predictive(draw(), (0.3 * draw()).exp(), (0.3 * draw() - 1).exp()), 1.5 * draw()


def test_entries_are_those_of_scoringrules():
    predictive, y = case()
    arguments = (y.numpy(), predictive.mean.numpy(), predictive.total_std.numpy())
    pairs = [
        (metrics.nll(predictive, y, reduction="none"), scoringrules.logs_normal(*arguments)),
        (metrics.crps(predictive, y, reduction="none"), scoringrules.crps_normal(*arguments)),
    ]
    for level in (0.5, 0.9, 0.95):
        low, high = (part.numpy() for part in predictive.interval(level))
        theirs = scoringrules.interval_score(arguments[0], low, high, 1 - level)
        pairs.append((metrics.interval_score(predictive, y, level, reduction="none"), theirs))
    for ours, theirs in pairs:
        assert ours.shape == (N, K)
        np.testing.assert_allclose(ours.numpy(), theirs, rtol=1e-10)


def test_crps_is_its_integral():
    predictive, y = case()
    t = torch.linspace(-30, 30, 600_001)
    mean, std = predictive.mean[0, 0], predictive.total_std[0, 0]
    below = torch.special.ndtr((t - mean) / std)
    integral = torch.trapezoid((below - (y[0, 0] <= t).double()) ** 2, t)
    assert abs(metrics.crps(predictive, y, reduction="none")[0, 0] - integral) < 1e-4


def test_means():
    predictive, y = case()
    entries = metrics.nll(predictive, y, reduction="none")
    assert torch.allclose(metrics.nll(predictive, y), entries.sum() / N)
    assert torch.allclose(metrics.nll(predictive, y), losses.gaussian_nll(predictive.mean, y, std=predictive.total_std))
    assert torch.allclose(metrics.crps(predictive, y), metrics.crps(predictive, y, reduction="none").sum() / (N * K))
    score = metrics.interval_score(predictive, y, 0.9, reduction="none").sum() / (N * K)
    assert torch.allclose(metrics.interval_score(predictive, y, 0.9), score)
    assert metrics.sharpness(predictive) == pytest.approx(predictive.total_std.sum().item() / (N * K))


def test_values_by_hand():
    standard = Predictive(torch.zeros(3, 1), 1.0)
    y = torch.tensor([[0.0], [1.0], [-2.5]])
    # at the mean: 2 phi(0) - 1/sqrt(pi) = (sqrt 2 - 1)/sqrt(pi)
    at_mean = (math.sqrt(2) - 1) / math.sqrt(math.pi)
    assert metrics.crps(standard, y, reduction="none")[0].item() == pytest.approx(at_mean)
    assert metrics.pit(standard, y)[1].item() == pytest.approx(0.841344746068543)
    # level 0.95 reaches 1.959964; -2.5 misses by 0.540036, and alpha is 0.05
    scores = metrics.interval_score(standard, y, 0.95, reduction="none").flatten()
    torch.testing.assert_close(
        scores, torch.tensor([3.919928, 3.919928, 3.919928 + 40 * 0.540036]), rtol=1e-6, atol=1e-6
    )
    estimate = metrics.coverage(standard, y, 0.95)
    assert estimate.value == pytest.approx(2 / 3)
    assert estimate.standard_error == pytest.approx(math.sqrt(0.95 * 0.05 / 3))
    assert str(estimate) == "0.667 +- 0.126"


def test_a_far_entry_keeps_a_finite_crps_close_to_its_error():
    far = metrics.crps(Predictive(torch.zeros(1, 1), 1.0), torch.full((1, 1), 1e6))
    assert far.item() == pytest.approx(1e6 - 1 / math.sqrt(math.pi))


def test_pit_is_uniform_exactly_when_the_prediction_is_right():
    noise = torch.randn(40_000, 1, generator=runtime.seed(3))
    x = torch.linspace(-1, 1, 40_000)[:, None]
    for stretch, uniform in ((1.0, True), (0.5, False), (2.0, False)):
        values = metrics.pit(Predictive(x, stretch * 0.2), x + 0.2 * noise)
        gap = (values.flatten().sort().values - (torch.arange(40_000) + 0.5) / 40_000).abs().max()
        assert (gap < 1.63 / 200) == uniform  # Kolmogorov's 1 % point at n = 40 000


def test_calibration_curve_is_the_coverage_at_every_level():
    predictive, y = case()
    levels, shares = metrics.calibration_curve(predictive, y)
    assert levels.shape == shares.shape == (19,)
    for level, share in zip(levels.tolist(), shares.tolist(), strict=True):
        assert share == pytest.approx(predictive.coverage(y, level))
    assert metrics.calibration_error(predictive, y) == pytest.approx((shares - levels).abs().mean().item())
    some = torch.tensor([0.5, 0.9])
    assert metrics.calibration_curve(predictive, y, some)[1].tolist() == pytest.approx(
        [predictive.coverage(y, 0.5), predictive.coverage(y, 0.9)]
    )


def test_calibration_error_of_a_stretched_std_in_closed_form():
    """For std c sigma the share at level p is 2 Phi(c z_p) - 1, whatever sigma."""
    noise = torch.randn(200_000, 1, generator=runtime.seed(4))
    levels = torch.arange(1, 20) / 20
    z = torch.special.ndtri((1 + levels) / 2)
    for stretch in (0.56, 1.0, 1.8):
        expected = (torch.erf(stretch * z / math.sqrt(2)) - levels).abs().mean().item()
        told = metrics.calibration_error(Predictive(torch.zeros_like(noise), stretch), noise)
        assert told == pytest.approx(expected, abs=4 * 0.3 / math.sqrt(200_000))


def test_luck_of_a_calibrated_model_is_about_as_the_docstring_says():
    errors = [
        metrics.calibration_error(
            Predictive(torch.zeros(400, 1), 1.0), torch.randn(400, 1, generator=runtime.seed(100 + i))
        )
        for i in range(200)
    ]
    assert sum(errors) / 200 == pytest.approx(0.3 / math.sqrt(400), rel=0.15)


def test_nll_and_crps_are_proper_and_coverage_is_not():
    """In expectation the truth scores best: closed forms for N(0, 1) noise and a claimed std t."""
    y = torch.special.ndtri((torch.arange(20_000) + 0.5) / 20_000)[:, None]  # even quantiles stand for endless noise
    for score in (metrics.nll, metrics.crps, lambda p, y: metrics.interval_score(p, y, 0.9)):
        told = {t: score(Predictive(torch.zeros_like(y), t), y).item() for t in (0.8, 0.95, 1.0, 1.05, 1.25)}
        assert min(told, key=told.get) == 1.0
    # a constant std and mean 0 cover as promised although x says more
    x = torch.linspace(-1, 1, 20_000)[torch.randperm(20_000, generator=runtime.seed(0))][:, None]
    spread = (x + y).std(correction=0)
    assert abs(metrics.coverage(Predictive(torch.zeros_like(y), spread), x + y, 0.95).value - 0.95) < 0.01
    assert metrics.nll(Predictive(torch.zeros_like(y), spread), x + y) > metrics.nll(Predictive(x, 1.0), x + y) + 0.1


def members(count=5):
    return [case(seed)[0] for seed in range(count)]


def test_moment_matched_has_the_moments_of_the_mixture():
    several = members()
    one = metrics.moment_matched(several)
    generator = runtime.seed(9)
    draws = torch.cat([m.sample(generator)[None] for _ in range(4000) for m in several])
    torch.testing.assert_close(one.mean, draws.mean(0), rtol=0, atol=0.08)
    torch.testing.assert_close(one.total_std, draws.std(0), rtol=0.04, atol=0)
    # by the law of total variance, from the members' own numbers
    means = np.stack([m.mean.numpy() for m in several])
    variances = np.stack([m.total_std.numpy() ** 2 for m in several])
    np.testing.assert_allclose(one.total_std.numpy() ** 2, means.var(0) + variances.mean(0), rtol=1e-12)
    aleatoric = np.stack([m.aleatoric_std.numpy() ** 2 for m in several]).mean(0)
    np.testing.assert_allclose(one.aleatoric_std.numpy() ** 2, aleatoric, rtol=1e-12)


def test_one_member_is_itself():
    (alone,) = members(1)
    one = metrics.moment_matched([alone])
    _, y = case()
    torch.testing.assert_close(one.epistemic_std, alone.epistemic_std)
    torch.testing.assert_close(metrics.mixture_nll([alone], y), metrics.nll(alone, y))


def test_mixture_nll_is_that_of_scoringrules():
    several = [Predictive(m.mean[:, :1], m.aleatoric_std[:, :1], m.epistemic_std[:, :1]) for m in members()]
    y = case(7)[1][:, :1]
    means, stds = (np.stack([getattr(m, name)[:, 0].numpy() for m in several], -1) for name in ("mean", "total_std"))
    theirs = scoringrules.logs_mixnorm(y[:, 0].numpy(), means, stds)
    ours = metrics.mixture_nll(several, y, reduction="none")
    assert ours.shape == (N, 1)
    np.testing.assert_allclose(ours[:, 0].numpy(), theirs, rtol=1e-10)
    assert torch.allclose(metrics.mixture_nll(several, y), ours.mean())


def test_mixture_of_several_outputs_is_joint():
    """Two members, two outputs: the density is a sum of products, not a product of sums."""
    a, b = Predictive(torch.zeros(1, 2), 1.0), Predictive(torch.full((1, 2), 3.0), 1.0)
    y = torch.tensor([[0.0, 3.0]])
    phi = lambda z: math.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)  # noqa: E731
    expected = -math.log(0.5 * (phi(0) * phi(3) + phi(3) * phi(0)))
    assert metrics.mixture_nll([a, b], y).item() == pytest.approx(expected)


def test_far_members_do_not_underflow():
    far = [Predictive(torch.full((1, 1), 1e4), 1.0), Predictive(torch.full((1, 1), 2e4), 1.0)]
    assert math.isfinite(metrics.mixture_nll(far, torch.zeros(1, 1)))


@pytest.mark.parametrize("score", [metrics.nll, metrics.crps, metrics.pit, metrics.calibration_curve])
def test_a_std_of_zero_is_refused(score):
    y = torch.zeros(3, 1)
    with pytest.raises(ValueError, match="total std is 0 at 3"):
        score(Predictive(y, 0.0), y)


@pytest.mark.bad_input
def test_refuses():
    predictive, y = case()
    cases = [
        (lambda: metrics.crps(predictive, y[:, :1]), "they must be equal"),
        (lambda: metrics.crps(predictive, y[:, 0]), r"shape \(n, k\)"),
        (lambda: metrics.nll(predictive, y * math.nan), "finite"),
        (lambda: metrics.nll(predictive, y, reduction="sum"), "mean, none"),
        (lambda: metrics.interval_score(predictive, y, 95), "0.95 for 95 %"),
        (lambda: metrics.calibration_curve(predictive, y, torch.tensor([0.5, 1.0])), "between 0 and 1"),
        (lambda: metrics.calibration_curve(predictive, y, torch.tensor([0.9, 0.5])), "rising"),
        (lambda: metrics.moment_matched([]), "at least one"),
        (lambda: metrics.moment_matched(predictive), "in a list"),
        (lambda: metrics.mixture_nll([predictive, Predictive(y[:5], 1.0)], y), "member 1"),
    ]
    for call, message in cases:
        with pytest.raises(ValueError, match=message):
            call()
