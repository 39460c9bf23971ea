"""The Laplace posterior against a peer's numbers, exact Bayesian regression, autograd, mpmath and its own parts."""

import copy
import json
import math
import os
import pickle
import subprocess
import sys
import tracemalloc
from pathlib import Path

import mpmath
import pytest
import torch
from torch.distributions import MultivariateNormal
from torch.utils.data import DataLoader, TensorDataset

from uqlib import datasets, laplace, losses, models, runtime, training

PEER = json.loads((Path(__file__).parent / "laplace_torch_cases.json").read_text())["cases"]
TOLERANCE = {"rtol": 0, "atol": 1e-8}


def close(ours, theirs, **tolerance):
    theirs = torch.as_tensor(theirs, dtype=torch.float64)
    torch.testing.assert_close(torch.as_tensor(ours), theirs, **(TOLERANCE | tolerance))


@pytest.fixture(params=PEER, ids=[case["name"] for case in PEER])
def peer(request):
    """A net that a peer library was run on, its data, and what the peer found."""
    case = request.param
    sizes = [(len(weight[0]), len(weight)) for weight, _ in case["layers"]]
    activation = getattr(torch, case["activation"])
    net = models.MLP(sizes[0][0], [m for _, m in sizes[:-1]], 1, generator=runtime.seed(0), activation=activation)
    with torch.no_grad():
        for layer, (weight, bias) in zip([*net.hidden, net.head], case["layers"], strict=True):
            layer.weight.copy_(torch.tensor(weight))
            layer.bias.copy_(torch.tensor(bias))
    return case, net, *(torch.tensor(case[key]) for key in ("x", "y", "x_test"))


@pytest.fixture
def problem():
    """Features, two outputs, and places to predict at."""
    generator = runtime.seed(4)
    draw = lambda *shape: torch.randn(shape, generator=generator, dtype=torch.float64)  # noqa: E731
    phi, weights = draw(40, 3), draw(4, 2)
    y = torch.cat([phi, torch.ones(40, 1)], 1) @ weights + 0.3 * draw(40, 2)
    return phi, y, draw(6, 3)


def ones(phi):
    return torch.cat([phi, torch.ones(len(phi), 1)], dim=1)


def exact(phi, y, covariance_of_noise, prior):
    """The posterior of w by conditioning the joint Gaussian of (w, y): no precision matrix in sight."""
    inverse = torch.linalg.inv(phi @ torch.diag(1 / prior) @ phi.T + covariance_of_noise)
    gain = torch.diag(1 / prior) @ phi.T @ inverse
    return gain @ y, torch.diag(1 / prior) - gain @ phi @ torch.diag(1 / prior)


# ---- a peer library


def test_peer_at_trained_weights(peer):
    case, net, x, y, x_test = peer
    ours = laplace.fit_head(net, (x, y), noise_std=case["noise_std"], prior_precision=case["prior_precision"])
    prediction = ours.predict(x_test)
    close(ours.cov[0], case["covariance"])
    close(prediction.mean, case["functional_mean"])
    close(prediction.epistemic_std[:, 0] ** 2, case["functional_variance"])
    assert abs(ours.log_evidence - case["log_evidence"]) < 1e-8
    assert "given weights" in repr(ours)


def test_peer_tuned():
    case = PEER[0]
    layers = [(torch.tensor(w), torch.tensor(b)) for w, b in case["layers"]]

    def features(x):
        for weight, bias in layers[:-1]:
            x = torch.relu(x @ weight.T + bias)
        return x

    weights = torch.cat([layers[-1][0].T, layers[-1][1][None]])
    data = torch.tensor(case["x"]), torch.tensor(case["y"])
    ours = laplace.fit(data, noise_std=0.2, weights=weights, features=features)
    for wanted, options in ((case["tuned_prior_precision"], {"noise_std": False}), (case["tuned_jointly"], {})):
        tuned = laplace.maximise_evidence(ours, **options)
        close(tuned.prior_precision[0], wanted["prior_precision"], atol=1e-6)
        close(tuned.noise_std[0, 0], wanted.get("noise_std", 0.2), atol=1e-6)
        close(tuned.log_evidence, wanted["log_evidence"], atol=1e-8)
    assert abs(laplace.fit(data, noise_std=0.2, features=features).log_evidence - 16.7839) < 1e-4


# ---- exact Bayesian linear regression


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("noise", ["common", "per output", "per point", "per entry", "function"])
def test_exact_posterior_and_prediction(problem, bias, noise):
    phi, y, at = problem
    spread = 0.2 + phi[:, :2].abs()
    stds = {
        "common": (0.3, torch.full((40, 2), 0.3)),
        "per output": (torch.tensor([[0.3, 0.7]]), torch.tensor([[0.3, 0.7]]).expand(40, 2)),
        "per point": (spread[:, :1], spread[:, :1].expand(40, 2)),
        "per entry": (spread, spread),
        "function": (lambda x: 0.2 + x[:, :2].abs(), spread),
    }
    given, std = stds[noise]
    posterior = laplace.fit((phi, y), noise_std=given, prior_precision=(2.0, 0.5) if bias else 2.0, bias=bias)
    design = ones(phi) if bias else phi
    prior = torch.tensor([2.0, 2.0, 2.0, 0.5])[: design.shape[1]]
    if noise in ("per point", "per entry"):
        with pytest.raises(ValueError, match=r"say what it is at x"):
            posterior.predict(at)
    prediction = posterior.predict(at, noise_std=1.0 if noise in ("per point", "per entry") else None)
    for j in range(2):
        mean, cov = exact(design, y[:, j], torch.diag(std[:, j] ** 2), prior)
        own = min(j, len(posterior.cov) - 1)
        close(posterior.mean[:, j], mean, atol=1e-10)
        close(posterior.cov[own], cov, atol=1e-10)
        close(posterior.precision[own] @ cov, torch.eye(len(cov)), atol=1e-10)
        there = ones(at) if bias else at
        close(prediction.mean[:, j], there @ mean, atol=1e-10)
        close(prediction.epistemic_std[:, j], (there @ cov @ there.T).diagonal().sqrt(), atol=1e-10)
        close(posterior.joint_cov(at)[j], there @ cov @ there.T, atol=1e-10)
    expected = {"function": 0.2 + at[:, :2].abs(), "per point": 1.0, "per entry": 1.0}.get(noise, std[:6])
    close(prediction.aleatoric_std, torch.as_tensor(expected).expand(6, 2), atol=1e-12)
    assert len(posterior.factor) == (1 if noise in ("common", "per point") else 2)


@pytest.mark.parametrize("std", [0.3, "per point"])
def test_evidence_is_the_density_of_the_data(problem, std):
    """log N(y; 0, Phi T^-1 Phi^T + D): the marginal likelihood without any posterior."""
    phi, y, _ = problem
    noise = torch.full((40, 1), 0.3) if std == 0.3 else 0.2 + phi[:, :1].abs()
    prior = torch.tensor([2.0, 2.0, 2.0, 0.5])
    marginal = ones(phi) @ torch.diag(1 / prior) @ ones(phi).T + torch.diag(noise[:, 0] ** 2)
    expected = MultivariateNormal(torch.zeros(40), marginal).log_prob(y.T).sum()
    posterior = laplace.fit((phi, y), noise_std=std if std == 0.3 else noise, prior_precision=(2.0, 0.5))
    close(posterior.log_evidence, expected, atol=1e-9)


def test_evidence_at_given_weights_is_lower_by_half_the_squared_distance(problem):
    phi, y, _ = problem
    best = laplace.fit((phi, y[:, :1]), noise_std=0.3)
    step = torch.tensor([[0.01], [-0.02], [0.03], [0.01]])
    moved = laplace.fit((phi, y[:, :1]), noise_std=0.3, weights=best.mean + step)
    gap = 0.5 * (step.T @ best.precision[0] @ step).item()
    close(best.log_evidence - moved.log_evidence, gap, atol=1e-9)
    close(moved.cov, best.cov, atol=0)


def test_posterior_is_the_inverse_hessian_of_the_negative_log_joint(problem):
    phi, y, _ = problem
    std = 0.2 + phi[:, :1].abs()
    posterior = laplace.fit((phi, y[:, :1]), noise_std=std, prior_precision=1.7)

    def negative_log_joint(w):
        likelihood = len(phi) * losses.gaussian_nll(ones(phi) @ w[:, None], y[:, :1], std=std)
        return likelihood - losses.log_prior([w], 1.7)

    at = posterior.mean[:, 0]
    close(torch.func.grad(negative_log_joint)(at), torch.zeros(4), atol=1e-9)
    close(posterior.precision[0], torch.func.hessian(negative_log_joint)(at), atol=1e-9)


def test_more_weight_on_the_prior_than_on_data_gives_the_prior():
    phi, y = torch.full((1, 1), 1e-9), torch.zeros(1, 1)
    prediction = laplace.fit((phi, y), noise_std=1.0, prior_precision=4.0, bias=False).predict(torch.ones(3, 1))
    close(prediction.epistemic_std, torch.full((3, 1), 0.5), atol=1e-12)


# ---- tuning


def brute_force(phi, y, tau, sigma, given=None):
    return laplace.fit((phi, y), noise_std=sigma, prior_precision=tau, weights=given).log_evidence


@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize("outputs", [1, 2])
def test_tuned_values_are_a_maximum(problem, given, outputs):
    phi, y, _ = problem
    y = y[:, :outputs]
    weights = laplace.fit((phi, y), noise_std=0.4).mean if given else None
    tuned = laplace.maximise_evidence(laplace.fit((phi, y), noise_std=1.0, weights=weights))
    tau, sigma = tuned.prior_precision[0].item(), tuned.noise_std[0, 0].item()
    at = lambda t, s: brute_force(phi, y, tau * math.exp(t), sigma * math.exp(s), weights)  # noqa: E731
    assert abs(at(0, 0) - tuned.log_evidence) < 1e-9
    for t, s in ((1e-3, 0), (0, 1e-3)):
        slope = (at(t, s) - at(-t, -s)) / 2e-3
        bend = (at(t, s) - 2 * at(0, 0) + at(-t, -s)) / 1e-6
        assert abs(slope) < 1e-4 and bend < -0.1
    grid = [at(t, s) for t in (-4, -1, 1, 4) for s in (-2, -0.5, 0.5, 2)]
    assert max(grid) < tuned.log_evidence
    assert tuned.at_given_weights == given


def test_tuned_values_satisfy_mackay(problem):
    """tau = gamma / w'w and sigma^2 = residuals / (n - gamma), with gamma from the covariance."""
    phi, y, _ = problem
    tuned = laplace.maximise_evidence(laplace.fit((phi, y[:, :1]), noise_std=1.0, bias=False))
    gamma = 3 - tuned.prior_precision[0] * tuned.cov[0].trace()
    close(tuned.effective_parameters, gamma, atol=1e-9)
    close(tuned.predict(phi).epistemic_std.square().mean(), tuned.noise_std[0, 0] ** 2 * gamma / 40, atol=1e-10)
    close(tuned.prior_precision[0], gamma / tuned.mean.square().sum(), atol=1e-8)
    close(tuned.noise_std[0, 0] ** 2, (y[:, :1] - phi @ tuned.mean).square().sum() / (40 - gamma), atol=1e-8)


def test_tuning_keeps_ratios_and_does_not_depend_on_units(problem):
    phi, y, at = problem
    start = laplace.fit((phi, y), noise_std=torch.tensor([[0.1, 0.3]]), prior_precision=(1.0, 0.01))
    tuned = laplace.maximise_evidence(start)
    close(tuned.noise_std[0, 1] / tuned.noise_std[0, 0], 3.0, atol=1e-10)
    close(tuned.prior_precision[-1] / tuned.prior_precision[0], 0.01, atol=1e-10)
    for scale in (1e-6, 1e6):
        other = laplace.fit((phi, scale * y), noise_std=torch.tensor([[0.1, 0.3]]), prior_precision=(1.0, 0.01))
        scaled = laplace.maximise_evidence(other)
        close(scaled.predict(at).total_std / scale, tuned.predict(at).total_std, atol=1e-9)
        close(scaled.log_evidence, tuned.log_evidence - 80 * math.log(scale), atol=1e-7)


def test_tuning_one_of_the_two(problem):
    phi, y, _ = problem
    start = laplace.fit((phi, y), noise_std=0.5, prior_precision=3.0)
    only_noise = laplace.maximise_evidence(start, prior_precision=False)
    only_prior = laplace.maximise_evidence(start, noise_std=False)
    assert only_noise.prior_precision[0] == 3.0 and only_prior.noise_std[0, 0] == 0.5
    both = laplace.maximise_evidence(start).log_evidence
    assert start.log_evidence < min(only_noise.log_evidence, only_prior.log_evidence) < both


def test_tuning_a_std_for_each_point_finds_the_factor():
    generator = runtime.seed(0)
    x = torch.rand((4000, 1), generator=generator)
    std = 0.1 + x
    y = 2 * x + std * torch.randn(x.shape, generator=generator)
    start = laplace.fit((x, y), noise_std=lambda x: (0.1 + x) / 7)
    tuned = laplace.maximise_evidence(start)
    assert abs(tuned.noise_std.item() / 7 - 1) < 0.03
    close(tuned.predict(x).aleatoric_std, tuned.noise_std * std / 7, atol=1e-12)


@pytest.mark.parametrize(("case", "text"), [("noise", "explain nothing"), ("exact", "explain every point")])
def test_no_maximum_is_said(case, text):
    generator = runtime.seed(1)
    phi = torch.randn((50, 2), generator=generator)
    y = phi @ torch.tensor([[1.0], [2.0]]) if case == "exact" else phi[:, :1] ** 2 - (phi[:, :1] ** 2).mean()
    if case == "noise":  # exactly uncorrelated with both features
        y = y - phi @ torch.linalg.lstsq(phi, y).solution
    with pytest.raises(ValueError, match=text):
        laplace.maximise_evidence(laplace.fit((phi, y), noise_std=1.0, bias=False))


@pytest.mark.parametrize("n", [100, 10_000])
@pytest.mark.parametrize("too_small", [1.0, 1e4, 1e5])
def test_features_without_a_share_in_y_are_refused_whatever_the_held_noise(n, too_small):
    """A plain: a value that is large by itself must not hide that it still rises."""
    generator = runtime.seed(3)
    phi = torch.randn((n, 3), generator=generator)
    y = torch.randn((n, 1), generator=generator)
    basis = torch.linalg.qr(phi)[0]
    for _ in range(2):
        y = y - basis @ (basis.T @ y)
    held = laplace.fit((phi, y), noise_std=1 / too_small, bias=False)
    with pytest.raises(ValueError, match="has no maximum"):
        laplace.maximise_evidence(held, noise_std=False)


@pytest.mark.parametrize("n", [100, 10_000])
@pytest.mark.parametrize("too_small", [1e2, 1e4, 1e5])
def test_one_feature_and_held_noise_have_a_closed_form(n, too_small):
    r"""With e = (phi'y)^2 / (phi'phi sigma^2) the evidence is largest at tau = (phi'phi / sigma^2) / (e - 1)."""
    generator = runtime.seed(4)
    phi, y = torch.randn((n, 1), generator=generator), torch.randn((n, 1), generator=generator)
    sigma = 1 / too_small
    square = phi.square().sum().item()
    explained = (phi * y).sum().item() ** 2 / square / sigma**2
    tuned = laplace.maximise_evidence(laplace.fit((phi, y), noise_std=sigma, bias=False), noise_std=False)
    assert tuned.prior_precision[0].item() == pytest.approx(square / sigma**2 / (explained - 1), rel=1e-6)


def test_more_features_than_points_still_have_a_maximum():
    generator = runtime.seed(0)
    phi = torch.randn((60, 100), generator=generator) / 10
    y = phi @ torch.randn((100, 1), generator=generator) + torch.randn((60, 1), generator=generator)
    tuned = laplace.maximise_evidence(laplace.fit((phi, y), noise_std=1.0, bias=False))
    tau, sigma = tuned.prior_precision[0].item(), tuned.noise_std.item()
    steps = [(t, s) for t in (-3, -1, -0.1, 0, 0.1, 1, 3) for s in (-3, -1, -0.1, 0, 0.1, 1) if (t, s) != (0, 0)]
    others = [
        laplace.posterior(tuned.statistics, noise_std=sigma * math.exp(s), prior_precision=tau * math.exp(t))
        for t, s in steps
    ]
    assert max(one.log_evidence for one in others) < tuned.log_evidence


@pytest.mark.parametrize("noise", [1e-3, 1e-4])
def test_small_features_beside_the_ones(noise):
    """The eigenvalues differ by 1e8: the sum of squared residuals must not come from their difference."""
    generator = runtime.seed(0)
    z = torch.randn((200, 3), generator=generator)
    y = z @ torch.tensor([[1.0], [2.0], [3.0]]) + noise * torch.randn((200, 1), generator=generator)
    tuned = laplace.maximise_evidence(laplace.fit((1e-4 * z, y), noise_std=1.0))
    rest = y - ones(z) @ torch.linalg.lstsq(ones(z), y).solution
    close(tuned.noise_std.item(), (rest.square().sum() / 196).sqrt(), atol=0, rtol=1e-4)


def test_the_higher_of_two_maxima_is_found():
    """Five strong directions and a weak one: one peak fits the prior to either."""
    generator = runtime.seed(0)
    basis = torch.linalg.qr(torch.randn(2000, 6, generator=generator))[0]
    noise = torch.randn(2000, 1, generator=generator)
    noise = noise - basis @ (basis.T @ noise)
    y = noise + basis @ torch.tensor([[(2000 * 0.284 / 5) ** 0.5]] * 5 + [[70.0**0.5]])
    start = laplace.fit((basis * torch.tensor([1e3] * 5 + [1.0]), y), noise_std=1.0, bias=False)
    tuned = laplace.maximise_evidence(start)
    for tau in torch.logspace(-6, 6, 49).tolist():
        for sigma in (0.98, 1.0, 1.025, 1.05, 1.1, 1.2):
            other = laplace.posterior(start.statistics, noise_std=sigma, prior_precision=tau)
            assert other.log_evidence < tuned.log_evidence + 1e-9


@pytest.mark.parametrize(("delta", "noise"), [(1e-5, 1e-2), (1e-6, 1e-3)])
def test_evidence_of_collinear_features_is_right_or_refused(delta, noise):
    generator = runtime.seed(0)
    a, d, e = (torch.randn(300, 1, generator=generator) for _ in range(3))
    posterior = laplace.fit((torch.cat([a, a + delta * d], 1), d + noise * e), noise_std=noise, bias=False,
                            prior_precision=1e-2 * delta**2)  # fmt: skip
    for call in (lambda: posterior.log_evidence, lambda: laplace.maximise_evidence(posterior)):
        with pytest.raises(ValueError, match=r"rounding may cost|has no maximum"):
            call()


def test_tuning_in_inference_mode(problem):
    start = laplace.fit(problem[:2], noise_std=1.0)
    with torch.inference_mode():
        inside = laplace.maximise_evidence(laplace.fit(problem[:2], noise_std=1.0))
    close(inside.noise_std, laplace.maximise_evidence(start).noise_std, atol=1e-12)


@pytest.mark.parametrize("zero", ["phi", "y"])
def test_zeros_have_no_evidence_to_maximise(problem, zero):
    phi, y, _ = problem
    data = (phi * 0, y) if zero == "phi" else (phi, y * 0)
    with pytest.raises(ValueError, match="is zero everywhere"):
        laplace.maximise_evidence(laplace.fit(data, noise_std=1.0, bias=False))


def test_evidence_lost_to_rounding_is_refused(problem):
    phi, y, _ = problem
    with pytest.raises(ValueError, match="subtract the mean of y"):
        _ = laplace.fit((phi, y + 1e9), noise_std=0.1, prior_precision=(1.0, 1e-20)).log_evidence


@pytest.mark.bad_input
def test_nothing_to_tune(problem):
    start = laplace.fit(problem[:2], noise_std=1.0)
    with pytest.raises(ValueError, match="nothing to tune"):
        laplace.maximise_evidence(start, prior_precision=False, noise_std=False)
    with pytest.raises(TypeError, match=r"laplace\.Posterior"):
        laplace.maximise_evidence(start.statistics)


# ---- streams and sums


def same(a, b, tolerance=1e-10):
    assert (a.points, a.bias, a.per_point) == (b.points, b.bias, b.per_point)
    for name in ("gram", "cross", "square", "log_std"):
        close(getattr(a, name), getattr(b, name), atol=tolerance)


@pytest.mark.parametrize("noise", [None, lambda phi: 0.5 + phi[:, :2] ** 2, lambda phi: 0.5 + phi[:, :1] ** 2])
def test_any_way_of_reading_gives_the_same_sums(problem, noise):
    phi, y, _ = problem
    whole = laplace.statistics((phi, y), noise_std=noise)
    pieces = list(zip(phi.split(7), y.split(7), strict=True))
    loader = DataLoader(TensorDataset(phi, y), batch_size=9, generator=runtime.seed(0))
    for stream in (pieces, iter(pieces), (pair for pair in pieces), loader, tuple(pieces), [(phi, y)]):
        same(laplace.statistics(stream, noise_std=noise), whole)
    left, right = (laplace.statistics((phi[s], y[s]), noise_std=noise) for s in (slice(0, 13), slice(13, None)))
    same(left + right, whole)
    same(right + left, whole)


def test_a_block_that_does_not_fill_the_buffer_and_one_that_overflows_it():
    generator = runtime.seed(0)
    for n in (1, 4095, 4096, 4097, 9000):
        phi, y = torch.randn((n, 2), generator=generator), torch.randn((n, 1), generator=generator)
        sums = laplace.statistics((phi, y))
        close(sums.gram[0], ones(phi).T @ ones(phi), atol=1e-9)
        close(sums.cross, ones(phi).T @ y, atol=1e-9)
        close(sums.square, (y**2).sum(0), atol=1e-9)
        assert sums.points == n


def test_float32_is_cast_before_it_is_multiplied():
    phi = torch.rand((5000, 3), generator=runtime.seed(0), dtype=torch.float32) + 100
    y = phi[:, :1].clone()
    close(laplace.statistics((phi, y)).gram[0], ones(phi.double()).T @ ones(phi.double()), atol=0, rtol=1e-13)


def test_memory_does_not_grow_with_the_number_of_points():
    def stream(batches):
        for i in range(batches):
            phi = torch.randn((1000, 5), generator=runtime.seed(i))
            yield phi, phi[:, :1]

    peaks = []
    for batches in (20, 200):
        tracemalloc.start()
        laplace.statistics(stream(batches))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.5 * peaks[0]


def test_refitting_starts_anew(problem):
    phi, y, _ = problem
    first = laplace.fit((phi, y), noise_std=0.3)
    again = laplace.fit((phi, y), noise_std=0.3)
    close(first.cov, again.cov, atol=0)
    assert first.statistics.points == again.statistics.points == 40


PROCESS = """
import sys, torch, torch.distributed as dist
from uqlib import laplace, runtime
torch.set_default_dtype(torch.float64)
dist.init_process_group("gloo")
rank, count = dist.get_rank(), dist.get_world_size()
generator = runtime.seed(3)
phi, y = torch.randn((1001, 4), generator=generator), torch.randn((1001, 2), generator=generator)
noise = (lambda x: 0.1 + x[:, :2] ** 2) if sys.argv[1] == "entry" else None
whole = laplace.statistics((phi, y), noise_std=noise)
ours = laplace.all_reduce(laplace.statistics((phi[rank::count], y[rank::count]), noise_std=noise))
assert count == 2 and ours.points == 1001, (count, ours)
for name in ("gram", "cross", "square", "log_std"):
    torch.testing.assert_close(getattr(ours, name), getattr(whole, name), rtol=0, atol=1e-10 * whole.gram.max().item())
a, b = (laplace.posterior(s, noise_std=0.5).predict(phi[:9], noise_std=1.0) for s in (ours, whole))
torch.testing.assert_close(a.total_std, b.total_std, rtol=0, atol=1e-10)
torch.testing.assert_close(a.mean, b.mean, rtol=0, atol=1e-10)
try:
    laplace.all_reduce(laplace.statistics((phi[:, : 2 + rank], y)))
except ValueError as error:
    assert "different sums" in str(error)
else:
    raise SystemExit("sums of different kinds were added")
print("same on rank", rank)
dist.destroy_process_group()
"""


@pytest.mark.slow
@pytest.mark.parametrize("noise", ["common", "entry"])
def test_two_processes_give_what_one_gives(tmp_path, noise):
    script = tmp_path / "two.py"
    script.write_text(PROCESS)
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2", "--standalone"]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
    done = subprocess.run([*command, script, noise], env=environment, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("same on rank") == 2


# ---- numerics


def test_nearly_collinear_float32_features_against_fifty_digits():
    """Two features that differ in their last float32 digits: the precision has condition number 1e9."""
    generator = runtime.seed(0)
    base = torch.randn((200, 1), generator=generator, dtype=torch.float32)
    twin = base + 1e-4 * torch.randn((200, 1), generator=generator, dtype=torch.float32)
    phi = torch.cat([base, twin, torch.randn((200, 2), generator=generator, dtype=torch.float32)], dim=1)
    y = torch.randn((200, 1), generator=generator, dtype=torch.float32)
    at = torch.tensor([[1.0, 1.0, 0.0, 0.0], [1.0, -1.0, 0.0, 0.0], [0.3, 0.2, -1.0, 2.0]], dtype=torch.float32)
    noise, tau = 0.01, 1e-3
    posterior = laplace.fit((phi, y), noise_std=noise, prior_precision=tau)
    values = torch.linalg.eigvalsh(posterior.precision[0])
    assert 1e8 < values[-1] / values[0] < 1e10

    with mpmath.workdps(50):
        exactly = lambda tensor: mpmath.matrix(ones(tensor.double()).tolist())  # noqa: E731
        rows = exactly(phi)
        precision = rows.T * rows / mpmath.mpf(noise) ** 2 + mpmath.mpf(tau) * mpmath.eye(5)
        wanted = []
        for i in range(3):
            place = exactly(at[i : i + 1]).T
            wanted.append(float((place.T * mpmath.lu_solve(precision, place))[0]))
    close(posterior.predict(at).epistemic_std[:, 0] ** 2, wanted, rtol=1e-6, atol=0)


@pytest.mark.parametrize("tau", [1e-18, 1e-30])
def test_collinear_features_are_refused_not_mended(tau):
    base = torch.randn((100, 1), generator=runtime.seed(0))
    with pytest.raises(ValueError, match=r"pivot \d of 3 .*(singular|collinear)|singular to rounding: pivot \d of 3"):
        laplace.fit((torch.cat([base, 2 * base], 1), base), noise_std=1e-3, prior_precision=tau)


def test_a_pivot_of_rounding_is_refused():
    with pytest.raises(ValueError, match="singular to rounding: pivot 2 of 2"):
        laplace.cholesky(torch.tensor([[1.0, 1.0], [1.0, 1.0 + 1e-14]]))
    close(laplace.cholesky(torch.diag(torch.tensor([1e-30, 1e30]))).diagonal(), [1e-15, 1e15], rtol=1e-12, atol=0)


@pytest.mark.bad_input
def test_cholesky_takes_float32_and_refuses_hidden_asymmetry():
    hessian = torch.tensor([[2.0, 1.0], [1.0, 2.0]], dtype=torch.float32)
    hessian[0, 1] += 2e-7
    assert laplace.cholesky(hessian).dtype == torch.float32
    with pytest.raises(ValueError, match="symmetric"):
        laplace.cholesky(torch.stack([1e12 * torch.eye(2), torch.tensor([[2.0, 1.0], [0.0, 2.0]])]))
    for shape in ((2, 4, 3, 3), (0, 0), (0, 3, 3), (2, 3)):
        with pytest.raises(ValueError, match="expected float64 or float32 of shape"):
            laplace.cholesky(torch.ones(shape))


def test_indefinite_precision_is_explained():
    before = torch.tensor([[2.0, 3.0], [3.0, 1.0]])
    given = before.clone()
    with pytest.raises(ValueError, match=r"not positive definite: pivot 2 of 2 is -3\.5 .*Fisher"):
        laplace.cholesky(given)
    assert torch.equal(given, before)
    with pytest.raises(ValueError, match="symmetric"):
        laplace.cholesky(torch.tensor([[2.0, 1.0], [0.0, 2.0]]))
    with pytest.raises(ValueError, match="finite"):
        laplace.cholesky(torch.full((2, 2), math.nan))
    close(laplace.cholesky(torch.eye(3)[None] * 4), 2 * torch.eye(3)[None], atol=0)


# ---- samples


def test_samples_have_the_closed_form_moments(problem):
    phi, y, at = problem
    posterior = laplace.fit((phi, y), noise_std=torch.tensor([[0.3, 0.9]]))
    count = 20_000
    draws = posterior.sample_functions(at, count, runtime.seed(0))
    prediction, joint = posterior.predict(at), posterior.joint_cov(at)
    assert draws.shape == (count, 6, 2)
    error = prediction.epistemic_std / math.sqrt(count)
    assert ((draws.mean(0) - prediction.mean).abs() < 4 * error).all()
    assert ((draws.std(0) / prediction.epistemic_std - 1).abs() < 4 / math.sqrt(2 * count)).all()
    for j in range(2):
        found, size = torch.cov(draws[:, :, j].T), joint[j].diagonal().sqrt()
        assert ((found - joint[j]).abs() < 4 * math.sqrt(2 / count) * size[:, None] * size).all()
    weights = posterior.sample_weights(count, runtime.seed(0))
    close(draws, ones(at) @ weights, atol=1e-12)
    between_outputs = (weights[:, :, 0] - posterior.mean[:, 0]).T @ (weights[:, :, 1] - posterior.mean[:, 1]) / count
    size = posterior.cov.diagonal(dim1=1, dim2=2).sqrt()
    assert (between_outputs.abs() < 4.5 * size[0][:, None] * size[1] / math.sqrt(count)).all()


def test_a_seed_gives_the_same_draws(problem):
    phi, y, at = problem
    posterior = laplace.fit((phi, y), noise_std=0.3)
    assert torch.equal(*(posterior.sample_functions(at, 3, runtime.seed(5)) for _ in range(2)))


# ---- nets


@pytest.fixture
def trained():
    data = datasets.toy("heteroskedastic").training(n=60, generator=runtime.seed(1))
    net = models.MeanNoiseNet(models.MLP(1, (6, 5), 2, generator=runtime.seed(0)))

    def loss(x, y):
        mean, log_std = net(x)
        return losses.gaussian_nll(mean, y, log_std=log_std)

    training.fit(loss, net.parameters(), data, steps=200, lr=1e-2, weight_decay=1 / 60)
    return net, data


def summed_loss(net, data):
    x, y = data
    phi = ones(net.net.features(x).detach())

    def loss(w):
        mean, log_std = (phi @ w.reshape(2, -1).T).chunk(2, dim=1)
        return len(x) * losses.gaussian_nll(mean, y, log_std=log_std) - losses.log_prior([w], 1.0)

    weights = torch.cat([net.net.head.weight, net.net.head.bias[:, None]], dim=1).detach().flatten()
    return loss, weights, phi


def test_fisher_is_the_expected_hessian(trained):
    """For y drawn from the net itself the Hessian tends to the Fisher information; two fixed draws give it exactly.

    Per point, r = +-sigma has E[r] = 0 and E[r^2] = sigma^2, all that the Hessian is linear in.
    """
    net, (x, _) = trained
    mean, log_std = (part.detach() for part in net(x))
    hessians = []
    for sign in (1, -1):
        loss, weights, _ = summed_loss(net, (x, mean + sign * log_std.exp()))
        hessians.append(torch.func.hessian(loss)(weights))
    expected = sum(hessians) / 2
    posterior = laplace.fit_mean_noise(net, trained[1])
    blocks = torch.block_diag(posterior.mean_head.precision[0], posterior.log_std_head.precision[0])
    close(blocks, expected, atol=1e-8)


def test_hessian_of_one_point_is_indefinite(trained):
    net, (x, y) = trained
    for i in range(5):
        loss, weights, _ = summed_loss(net, (x[i : i + 1], y[i : i + 1]))
        hessian = torch.func.hessian(loss)(weights) - torch.eye(len(weights))  # without the prior
        assert torch.linalg.eigvalsh(hessian)[0] < -1e-9
    with pytest.raises(ValueError, match="Fisher"):
        laplace.cholesky(hessian)


def test_mean_noise_prediction(trained):
    net, data = trained
    posterior = laplace.fit_mean_noise(net, data, prior_precision=(1.0, 0.2))
    x = torch.linspace(-2, 2, 9)[:, None]
    phi = ones(net.net.features(x).detach())
    mean, log_std = (part.detach() for part in net(x))
    prediction, plug_in = posterior.predict(x), posterior.predict(x, plug_in=True)
    s = lambda head: (phi @ torch.linalg.inv(head.precision[0]) @ phi.T).diagonal()[:, None].sqrt()  # noqa: E731
    close(prediction.mean, mean, atol=1e-10)
    close(prediction.epistemic_std, s(posterior.mean_head), atol=1e-10)
    close(plug_in.aleatoric_std, log_std.exp(), atol=1e-10)
    draws = posterior.log_std_head.sample_functions(x, 100_000, runtime.seed(0))
    variances = (2 * draws).exp()
    error = variances.std(0) / math.sqrt(len(draws))
    assert ((variances.mean(0) - prediction.aleatoric_std**2).abs() < 4 * error).all()
    close(posterior.mean_head.predict(x).aleatoric_std, log_std.exp(), atol=1e-10)


def test_mean_noise_reads_a_generator_once_and_takes_several_outputs():
    net = models.MLP(1, (4,), 4, generator=runtime.seed(0))
    x, y = torch.linspace(-1, 1, 30)[:, None], torch.randn((30, 2), generator=runtime.seed(1))
    whole = laplace.fit_mean_noise(net, (x, y))
    stream = laplace.fit_mean_noise(net, zip(x.split(7), y.split(7), strict=True))
    at = torch.linspace(-2, 2, 5)[:, None]
    close(stream.predict(at).total_std, whole.predict(at).total_std, atol=1e-12)
    assert whole.predict(at).mean.shape == (5, 2) and len(whole.mean_head.factor) == 2


def test_mean_and_noise_compute_the_features_of_a_batch_once(monkeypatch):
    net = models.MLP(1, (4,), 2, generator=runtime.seed(0))
    x = torch.linspace(-1, 1, 30)[:, None]
    calls, real = [], net.features
    monkeypatch.setattr(net, "features", lambda x: calls.append(len(x)) or real(x))
    laplace.fit_mean_noise(net, zip(x.split(10), x.split(10), strict=True))
    assert calls == [10, 10, 10]


def test_head_without_bias():
    net = models.MLP(2, (5,), 3, generator=runtime.seed(0))
    with torch.random.fork_rng():
        net.head = torch.nn.Linear(5, 3, bias=False)
    x, y = torch.randn((20, 2), generator=runtime.seed(1)), torch.randn((20, 3), generator=runtime.seed(2))
    posterior = laplace.fit_head(net, (x, y), noise_std=0.5)
    assert posterior.mean.shape == (5, 3) and "no bias" in repr(posterior)
    close(posterior.predict(x).mean, net(x).detach(), atol=1e-12)


class Normed(torch.nn.Module):
    """A net with BatchNorm and dropout, its head apart."""

    def __init__(self):
        super().__init__()
        layers = [torch.nn.Linear(1, 6), torch.nn.BatchNorm1d(6), torch.nn.Tanh(), torch.nn.Dropout(0.5)]
        self.body, self.head = torch.nn.Sequential(*layers), torch.nn.Linear(6, 1)

    def features(self, x):
        return self.body(x)


def test_the_net_is_bitwise_unchanged_by_every_call():
    with torch.random.fork_rng():
        net = Normed()
    net.head.weight.requires_grad_(False)
    net.eval()
    net.body[0].train()  # a mixture of modes, all harmless
    before, modes = copy.deepcopy(net.state_dict()), [part.training for part in net.modules()]
    flags = [p.requires_grad for p in net.parameters()]
    x = torch.linspace(-1, 1, 20)[:, None]
    y = x**2
    posterior = laplace.fit_head(net, (x, y), noise_std=0.1)
    tuned = laplace.maximise_evidence(posterior)
    for one in (posterior, tuned):
        one.predict(x), one.joint_cov(x), one.log_evidence, one.sample_functions(x, 3, runtime.seed(0))
    assert all(
        torch.equal(net.state_dict()[k].flatten().view(torch.uint8), v.flatten().view(torch.uint8))
        for k, v in before.items()
    )
    assert modes == [part.training for part in net.modules()]
    assert flags == [p.requires_grad for p in net.parameters()]
    assert all(p.grad is None for p in net.parameters())
    net.train()
    for call in (lambda: laplace.fit_head(net, (x, y), noise_std=0.1), lambda: posterior.predict(x)):
        with pytest.raises(ValueError, match=r"body\.1 acts differently in training mode; call net\.eval"):
            call()
    assert all(torch.equal(net.state_dict()[k], v) for k, v in before.items())


def test_a_posterior_does_not_follow_the_net_when_it_is_trained_on():
    net = models.MLP(1, (3,), 1, generator=runtime.seed(0))
    x = torch.linspace(-1, 1, 20)[:, None]
    posterior = laplace.fit_head(net, (x, x), noise_std=0.1)
    mean = posterior.mean.clone()
    with torch.no_grad():
        net.head.weight.add_(1.0)
    close(posterior.mean, mean, atol=0)


def test_a_posterior_does_not_follow_tensors_that_were_handed_in(problem):
    phi, y, at = problem
    weights, noise, there = torch.ones(4, 2), torch.full((1, 2), 0.5), torch.full((6, 2), 0.3)
    posterior = laplace.fit((phi, y), noise_std=noise, weights=weights)
    before = posterior.predict(at), posterior.predict(at, noise_std=there)
    weights.add_(1), noise.mul_(3)
    for prediction in before:
        prediction.aleatoric_std.mul_(1.0)
    posterior.predict(at).aleatoric_std.mul_(7)
    posterior.predict(at, noise_std=there).aleatoric_std.mul_(7)
    close(posterior.predict(at).total_std, before[0].total_std, atol=0)
    close(posterior.predict(at).mean, before[0].mean, atol=0)
    close(there, torch.full((6, 2), 0.3), atol=0)


def test_posteriors_can_be_stored(trained):
    net, data = trained
    posterior = laplace.fit_mean_noise(net, data)
    stored = pickle.loads(pickle.dumps(posterior))
    close(stored.predict(data[0]).total_std, posterior.predict(data[0]).total_std, atol=0)
    copied = copy.deepcopy(laplace.fit_head(net.net, (data[0], data[1].expand(-1, 2)), noise_std=1.0))
    assert copied.predict(data[0]).mean.shape == (60, 2)


def test_prediction_of_many_points_is_that_of_each(problem):
    phi, y, _ = problem
    posterior = laplace.fit((phi, y), noise_std=0.3)
    at = torch.randn((9000, 3), generator=runtime.seed(8))
    some = torch.tensor([0, 8191, 8192, 8999])
    close(posterior.predict(at).epistemic_std[some], posterior.predict(at[some]).epistemic_std, atol=1e-12)


@pytest.mark.parametrize("kind", ["attention", "lstm", "old spectral norm"])
def test_other_layers_that_act_differently_in_training_are_refused(kind):
    with torch.random.fork_rng():
        extra = {
            "attention": lambda: torch.nn.MultiheadAttention(2, 1, dropout=0.5),
            "lstm": lambda: torch.nn.LSTM(2, 2, num_layers=2, dropout=0.5),
            "old spectral norm": lambda: torch.nn.utils.spectral_norm(torch.nn.Linear(2, 2)),
        }[kind]()
        net = models.MLP(1, (3,), 1, generator=runtime.seed(0))
        net.extra = extra
    x = torch.linspace(-1, 1, 20)[:, None]
    with pytest.raises(ValueError, match="extra acts differently in training mode"):
        laplace.fit_head(net, (x, x), noise_std=0.1)
    net.eval()
    laplace.fit_head(net, (x, x), noise_std=0.1)


def test_mean_and_noise_of_a_net_that_calls_its_body_net(trained):
    class Own(torch.nn.Module):
        def __init__(self, inner):
            super().__init__()
            self.net, self.head = torch.nn.Sequential(*inner.hidden), inner.head

        def features(self, x):
            return torch.tanh(self.net[1](torch.tanh(self.net[0](x))))

    net, data = trained
    own, theirs = laplace.fit_mean_noise(Own(net.net), data), laplace.fit_mean_noise(net, data)
    close(own.predict(data[0]).total_std, theirs.predict(data[0]).total_std, atol=1e-12)


def test_what_is_returned_shares_no_memory(problem):
    phi, y, at = problem
    posterior = laplace.fit((phi, y), noise_std=0.3)
    joint, prediction = posterior.joint_cov(at), posterior.predict(at)
    kept = joint[1].clone(), prediction.epistemic_std[:, 1].clone()
    joint[0].mul_(2), prediction.epistemic_std[:, 0].mul_(2)
    close(joint[1], kept[0], atol=0)
    close(prediction.epistemic_std[:, 1], kept[1], atol=0)


def test_a_list_of_parts_can_be_summed(problem):
    phi, y, _ = problem
    parts = [laplace.statistics(pair) for pair in zip(phi.split(9), y.split(9), strict=True)]
    same(sum(parts), laplace.statistics((phi, y)))


def test_a_spectrally_normed_head_in_training_mode_is_refused_unread():
    with torch.random.fork_rng():
        net = Normed()
        net.head = torch.nn.utils.parametrizations.spectral_norm(net.head)
    net.body.eval()
    net.head.train()
    before = copy.deepcopy(net.state_dict())
    x = torch.linspace(-1, 1, 20)[:, None]
    with pytest.raises(ValueError, match="acts differently in training mode"):
        laplace.fit_head(net, (x, x), noise_std=0.1)
    assert all(torch.equal(net.state_dict()[k], v) for k, v in before.items())


# ---- what is refused


def _two_outputs():
    return models.MLP(3, (2,), 2, generator=runtime.seed(0))


def _per_point(phi, y, columns):
    return laplace.statistics((phi, y), noise_std=torch.ones(len(phi), columns))


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda p, y: laplace.fit((p[:, 0], y), noise_std=1.0), r"data: x: expected shape \(n, k\)"),
        (lambda p, y: laplace.fit((p, y[:, 0]), noise_std=1.0), r"data: y: expected shape \(n, k\)"),
        (lambda p, y: laplace.fit((p, y[:-1]), noise_std=1.0), r"\(40, 3\) but y has shape \(39, 2\)"),
        (lambda p, y: laplace.fit((p, y), noise_std=0.0), "noise_std: expected a finite number above 0"),
        (lambda p, y: laplace.fit((p, y), noise_std=torch.full((40, 1), -1.0)), "is this a log std"),
        (
            lambda p, y: laplace.fit((p, y), noise_std=torch.full((40,), 1.0)),
            r"\(n, 1\) or \(n, k\), of each point; got \(40,\)",
        ),
        (
            lambda p, y: laplace.fit((p, y), noise_std=torch.ones(1, 3)),
            r"noise_std: expected a number or shape \(1, 2\)",
        ),
        (lambda p, y: laplace.fit((p, y), noise_std=torch.ones(40, 3)), r"expected shape \(40, 1\) or \(40, 2\)"),
        (lambda p, y: laplace.fit([(p, y)], noise_std=torch.ones(40, 1)), "must be a function of x"),
        (lambda p, y: laplace.fit((p, y), noise_std=1.0, prior_precision=0.0), "prior_precision: expected a finite"),
        (lambda p, y: laplace.fit((p, y), noise_std=1.0, prior_precision=(1.0, 2.0), bias=False), "without a bias"),
        (
            lambda p, y: laplace.fit((p, y), noise_std=1.0, prior_precision=(1.0, 2.0, 3.0)),
            "expected one number, or two",
        ),
        (
            lambda p, y: laplace.fit((p, y), noise_std=1.0, weights=torch.ones(3, 2)),
            r"expected shape \(4, 2\), a row for each of 3 features and the bias",
        ),
        (lambda p, y: laplace.fit([], noise_std=1.0), "at least one batch"),
        (lambda p, y: laplace.fit([(p, y), (p[:, :2], y)], noise_std=1.0), "phi has 2 columns in this batch, 3 in"),
        (lambda p, y: laplace.fit([(p, y), p], noise_std=1.0), "expected batch 1 to be a pair"),
        (lambda p, y: laplace.fit(p, noise_std=1.0), "expected .phi, y. or an iterable"),
        (lambda p, y: laplace.fit((p, y), noise_std=1.0, features=3), "expected a function such as net.features"),
        (lambda p, y: laplace.fit((p.clone().fill_(math.nan), y), noise_std=1.0), r"phi .* expected finite values"),
        (lambda p, y: laplace.fit((p * 1e200, y), noise_std=1.0), "too large for float64"),
        (lambda p, y: laplace.fit_head(torch.nn.Identity(), (p, y), noise_std=1.0), "features.x. and a linear head"),
        (lambda p, y: laplace.fit((p, y), noise_std=1.0).predict(p[:, :2]), r"expected shape \(n, 3\), got \(40, 2\)"),
        (lambda p, y: laplace.fit((p, y), noise_std=1.0).sample_weights(0, runtime.seed(0)), "count"),
        (lambda p, y: laplace.fit((p, y), noise_std=1.0).sample_weights(2, 0), "generator"),
        (lambda p, y: laplace.statistics((p, y)) + laplace.statistics((p, y), bias=False), "cannot be added"),
        (lambda p, y: laplace.statistics((p, y)) + 1, "expected Statistics"),
        (lambda p, y: _per_point(p, y, 1) + _per_point(p, y, 2), "each point.* and .*each entry.*cannot be added"),
        (
            lambda p, y: laplace.statistics(
                [(p, y), (p[:9], y[:9])], noise_std=lambda x: torch.ones(len(x), 1 + (len(x) < 20))
            ),
            r"noise_std\(x\): 2 columns in this batch, 1 in",
        ),
        (lambda p, y: laplace.posterior((p, y)), "for data call laplace.fit"),
        (
            lambda p, y: laplace.posterior(laplace.statistics((p, y)), noise_at=lambda x: x),
            "hold no std for each point",
        ),
        (lambda p, y: laplace.fit((p.numpy(), y.numpy()), noise_std=1.0), r"pair of tensors .*got ndarray"),
        (lambda p, y: laplace.fit((p, y), noise_std=1e-200), "between 1e-100 and 1e100"),
        (lambda p, y: laplace.all_reduce(laplace.statistics((p, y))), "init_process_group"),
        (lambda p, y: laplace.fit((p, y), noise_std=1.0, bias=2), "bias: expected True or False"),
        (
            lambda p, y: laplace.fit((p, y), noise_std=torch.ones(2)),
            r"expected \(1, k\), a std of each output.*got \(2,\)",
        ),
        (lambda p, y: laplace.fit((p, y), noise_std=torch.full((1, 2), 1e200)), "between 1e-100 and 1e100"),
        (lambda p, y: laplace.maximise_evidence(laplace.fit((p, y), noise_std=1.0), noise_std=0.3), "True .tune it"),
        (lambda p, y: laplace.posterior(laplace.statistics((p, y)), features=3), "features: expected a function of x"),
        (lambda p, y: laplace.fit((p, y), noise_std=1.0, features=lambda x: p).predict(p[:7]), "a row for each of 7"),
        (lambda p, y: laplace.fit_mean_noise(_two_outputs(), (p, y)), r"y: expected shape \(40, 1\), got \(40, 2\)"),
        (lambda p, y: laplace.fit_mean_noise(_two_outputs(), (p, y[:-1, :1])), r"y has shape \(39, 1\): rows pair up"),
        (lambda p, y: laplace.all_reduce(3), "expected laplace.Statistics, got int"),
        (lambda p, y: laplace.fit_mean_noise(models.MLP(3, (2,), 1, generator=runtime.seed(0)), (p, y)), "2k outputs"),
    ],
)
def test_bad_input_is_one_clear_line(problem, call, text):
    phi, y, _ = problem
    before = phi.clone(), y.clone()
    with pytest.raises((TypeError, ValueError, RuntimeError), match=text) as caught:
        call(phi, y)
    assert "\n" not in str(caught.value)
    assert torch.equal(phi, before[0]) and torch.equal(y, before[1])
