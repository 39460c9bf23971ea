"""Properties of every public function, on random shapes, dtypes, memory layouts and scales.

A result is compared with a formula written out here in Python's own floats, entry by entry, or with an inverse in place
of a Cholesky factor; nothing of the code under test is used to judge it. What cannot have an answer must be refused by
one line that names the argument and says what arrived. The inputs are drawn by hypothesis, the same ones each time.
"""

import math

import matplotlib as mpl
import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from uqlib import (
    Predictive,
    _exports,
    datasets,
    figures,
    flows,
    laplace,
    losses,
    metrics,
    models,
    plotting,
    runtime,
    training,
)

PROFILE = settings(
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=20,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
SEEDS = st.integers(0, 2**31)
DTYPES = st.sampled_from([torch.float32, torch.float64])
LAYOUTS = st.sampled_from(["plain", "transposed", "gaps"])
LEVELS = st.floats(0.001, 0.999)
CLOSE = {torch.float32: 2e-5, torch.float64: 1e-11}


def laid_out(values, layout):
    """The same numbers with other strides."""
    n, k = values.shape
    if layout == "transposed":
        return values.T.contiguous().T
    if layout == "gaps":
        return values.new_full((2 * n, 3 * k), math.nan).index_put((torch.arange(0, 2 * n, 2)[:, None],
               torch.arange(0, 3 * k, 3)[None]), values)[::2, ::3]  # fmt: skip
    return values


@st.composite
def cases(draw, outputs=3, exponent=(-2, 2), layouts=LAYOUTS):
    """n, k, dtype, and a function that makes matrices of one scale, with positive entries on request."""
    n, k = draw(st.integers(1, 6)), draw(st.integers(1, outputs))
    dtype, layout, generator = draw(DTYPES), draw(layouts), runtime.seed(draw(SEEDS))
    scale = 10.0 ** draw(st.integers(*exponent))

    def matrix(shape=(n, k), positive=False):
        values = torch.randn(shape, generator=generator, dtype=torch.float64)
        values = (values.abs() + 0.1 if positive else values) * scale
        return laid_out(values.to(dtype), layout)

    return n, k, dtype, matrix


def rows(*tensors):
    """Entries of matrices of one shape, as tuples of floats."""
    return zip(*(tensor.detach().double().flatten().tolist() for tensor in tensors), strict=True)


def left_alone(call, *tensors):
    """The result of a call that changes none of the tensors, nor whether they require a gradient, nor leaves one."""
    before = [(t.detach().clone(), t.requires_grad, t.grad) for t in tensors]
    result = call(*tensors)
    for tensor, (values, needs, grad) in zip(tensors, before, strict=True):
        assert torch.equal(tensor.detach(), values) and tensor.requires_grad == needs and tensor.grad is grad
    return result


def close(found, wanted, dtype, size=None):
    """Whether numbers agree within the rounding of a dtype, relative to the size of what was added up."""
    found = found.detach().double().flatten().tolist() if isinstance(found, torch.Tensor) else [found]
    wanted = wanted if isinstance(wanted, list) else [wanted]
    for f, w in zip(found, wanted, strict=True):
        assert math.isclose(f, w, rel_tol=CLOSE[dtype], abs_tol=CLOSE[dtype] * (size or 1e-300)), (f, w)


def density(m, y, s):
    """The log density of y under a normal."""
    return -0.5 * math.log(2 * math.pi) - math.log(s) - 0.5 * ((y - m) / s) ** 2


# Losses


@PROFILE
@given(cases(), st.booleans())
def test_losses_are_their_formulas(case, grad):
    n, _, dtype, matrix = case
    mean, y, std = matrix().requires_grad_(grad), matrix(), matrix(positive=True)
    squares = [(b - a) ** 2 for a, b in rows(mean, y)]
    loss = left_alone(losses.squared_error, mean, y)
    close(loss, math.fsum(squares) / n, dtype, max(squares))
    assert loss.dtype == dtype and loss.shape == () and loss.requires_grad == grad

    each = [-density(m, v, s) for m, v, s in rows(mean, y, std)]
    wanted, size = math.fsum(each) / n, max(map(abs, each))
    close(left_alone(lambda m, v, s: losses.gaussian_nll(m, v, std=s), mean, y, std), wanted, dtype, size)
    close(left_alone(lambda m, v, s: losses.gaussian_nll(m, v, log_std=s.log()), mean, y, std), wanted, dtype, size)
    shared = std[0, 0].item()
    each = [-density(m, v, shared) for m, v in rows(mean, y)]
    for one in (shared, torch.tensor(shared, dtype=dtype)):
        close(losses.gaussian_nll(mean, y, std=one), math.fsum(each) / n, dtype, max(map(abs, each)))
    close(losses.gaussian_nll(mean, y, log_std=math.log(shared)), math.fsum(each) / n, dtype, max(map(abs, each)))


@PROFILE
@given(cases(exponent=(-1, 1)), st.floats(0, 1))
def test_beta_nll_is_its_formula_and_its_weight_is_held(case, beta):
    n, _, dtype, matrix = case
    mean, y, log_std = matrix(), matrix(), (matrix() / matrix().abs().max()).requires_grad_()
    loss = left_alone(lambda m, v, s: losses.beta_nll(m, v, log_std=s, beta=beta), mean, y, log_std)
    each = [math.exp(2 * beta * s) * -density(m, v, math.exp(s)) for m, v, s in rows(mean, y, log_std)]
    close(loss, math.fsum(each) / n, dtype, max(map(abs, each)))
    (slope,) = torch.autograd.grad(loss, log_std)
    wanted = [math.exp(2 * beta * s) * (1 - ((v - m) / math.exp(s)) ** 2) / n for m, v, s in rows(mean, y, log_std)]
    close(slope, wanted, dtype, max(map(abs, wanted)))


@PROFILE
@given(DTYPES, st.sampled_from([-300.0, -60.0, -41.0, 41.0, 60.0, 300.0]), st.floats(0, 1))
def test_a_log_std_far_out_gives_numbers_and_a_gradient_that_brings_it_back(dtype, far, beta):
    zeros, log_std = torch.zeros(2, 1, dtype=dtype), torch.full((2, 1), far, dtype=dtype, requires_grad=True)
    held = far if dtype is torch.float64 else math.copysign(min(abs(far), 0.45 * math.log(torch.finfo(dtype).max)), far)
    constant = 0.5 * math.log(2 * math.pi)
    plain, weighted = losses.gaussian_nll(zeros, zeros, log_std=log_std), losses.beta_nll(
        zeros, zeros, log_std=log_std, beta=beta
    )  # fmt: skip
    close(plain, held + constant, dtype)
    assert math.isclose(weighted.item(), math.exp(2 * beta * held) * (held + constant), rel_tol=1e-4, abs_tol=1e-44)
    assert torch.equal(torch.autograd.grad(plain, log_std)[0], torch.full_like(zeros, 0.5))


@PROFILE
@given(cases(), st.floats(1e-6, 1e6))
def test_log_prior_is_the_density_of_every_weight(case, tau):
    n, k, dtype, matrix = case
    parts = [matrix(), matrix((k, n)).requires_grad_()]
    found = left_alone(lambda *p: losses.log_prior(iter(p), tau), *parts)
    each = [density(0, w, tau**-0.5) for part in parts for (w,) in rows(part)]
    close(found, math.fsum(each), dtype, max(map(abs, each)) * len(each))


# Predictive


@PROFILE
@given(cases(exponent=(-12, 12)), LEVELS)
def test_a_prediction_is_a_normal_density(case, level):
    n, k, dtype, matrix = case
    parts = matrix(), matrix(positive=True), matrix(positive=True).requires_grad_()
    told, y = left_alone(Predictive, *parts), matrix()
    total = [math.hypot(a, e) for a, e in rows(*parts[1:])]
    close(told.total_std, total, dtype)
    close(left_alone(told.log_prob, y), [density(m, v, t) for (m, v), t in zip(rows(told.mean, y), total, strict=True)],
          dtype, 10.0)  # fmt: skip
    low, high = told.interval(level)
    inside = 0
    for (a, m, b, v), t in zip(rows(low, told.mean, high, y), total, strict=True):
        # Phi((b - m) / t) - Phi((a - m) / t), by the error function and not by its inverse
        mass = 0.5 * (math.erf((b - m) / t / math.sqrt(2)) - math.erf((a - m) / t / math.sqrt(2)))
        assert math.isclose(mass, level, rel_tol=1e3 * CLOSE[dtype], abs_tol=1e-5 if dtype is torch.float32 else 1e-12)
        inside += a <= v <= b
    assert told.coverage(y, level) == inside / (n * k)
    assert told.mean.dtype == low.dtype == told.sample(runtime.seed(0)).dtype == dtype


@PROFILE
@given(DTYPES, st.integers(-300, 300), st.integers(-300, 300))
def test_total_std_neither_overflows_nor_vanishes(dtype, a, b):
    reach = 37 if dtype is torch.float32 else 300
    one, two = 10.0 ** (a * reach // 300), 10.0 ** (b * reach // 300)
    told = Predictive(torch.zeros(1, 1, dtype=dtype), one, two)
    assert math.isclose(told.total_std.item(), math.hypot(one, two), rel_tol=CLOSE[dtype])
    assert told.log_prob(told.mean).isfinite().all()


@PROFILE
@given(cases(), SEEDS)
def test_rescaling_moves_the_log_density_by_the_log_of_the_scale(case, seed):
    _, k, dtype, matrix = case
    told, y = Predictive(matrix(), matrix(positive=True), matrix(positive=True)), matrix()
    shift, scale = matrix((1, k)), matrix((1, k), positive=True)
    moved = left_alone(lambda a, b: told.rescale(shift=a, scale=b), shift, scale)
    old, new = told.log_prob(y).double(), moved.log_prob(scale * y + shift).double()
    size = (shift.abs() / (scale * told.total_std)).max().item() + old.abs().max().item()
    assert torch.allclose(new + scale.double().log(), old, rtol=0, atol=20 * CLOSE[dtype] * (1 + size) ** 2)
    draws, same = (told.sample(runtime.seed(seed)) for _ in range(2))
    noise = torch.randn(y.shape, generator=runtime.seed(seed), dtype=dtype)
    assert torch.equal(draws, same)
    close(draws, [m + math.hypot(a, e) * z for m, a, e, z in rows(told.mean, told.aleatoric_std, told.epistemic_std,
          noise)], dtype, draws.abs().max().item())  # fmt: skip


# Scores


def judged(case):
    matrix = case[3]
    return Predictive(matrix(), matrix(positive=True), matrix(positive=True)), matrix()


@PROFILE
@given(cases(exponent=(-10, 10)), LEVELS)
def test_scores_are_their_formulas(case, level):
    n, _, dtype, _ = case
    told, y = judged(case)
    entries = [*rows(told.mean, told.total_std, y)]
    unit = math.fsum(t for _, t, _ in entries) + sum(abs(v) + abs(m) for m, _, v in entries)

    logs = [-density(m, v, t) for m, t, v in entries]
    close(left_alone(lambda v: metrics.nll(told, v, reduction="none"), y), logs, dtype, 10.0)
    close(metrics.nll(told, y), math.fsum(logs) / n, dtype, 50.0)

    def crps(m, t, v):  # E|Y - v| - E|Y - Y'| / 2: a folded normal's mean, and 2 t / sqrt(pi)
        z = (v - m) / t
        folded = t * math.sqrt(2 / math.pi) * math.exp(-0.5 * z**2) + (v - m) * math.erf(z / math.sqrt(2))
        return folded - t / math.sqrt(math.pi)

    close(
        left_alone(lambda v: metrics.crps(told, v, reduction="none"), y), [crps(*one) for one in entries], dtype, unit
    )
    close(metrics.crps(told, y), math.fsum(crps(*one) for one in entries) / len(entries), dtype, unit)
    close(metrics.pit(told, y), [0.5 * math.erfc((m - v) / t / math.sqrt(2)) for m, t, v in entries], dtype, 1.0)
    close(metrics.sharpness(told), math.fsum(t for _, t, _ in entries) / len(entries), dtype)

    low, high = told.interval(level)
    cost = [b - a + 2 / (1 - level) * (max(a - v, 0) + max(v - b, 0)) for a, b, v in rows(low, high, y)]
    close(metrics.interval_score(told, y, level, reduction="none"), cost, dtype, 2 / (1 - level) * unit)
    close(metrics.interval_score(told, y, level), math.fsum(cost) / len(cost), dtype, 2 / (1 - level) * unit)
    share = metrics.coverage(told, y, level)
    assert share.value == sum(a <= v <= b for a, b, v in rows(low, high, y)) / len(entries)
    assert math.isclose(share.standard_error**2, level * (1 - level) / len(entries))


@PROFILE
@given(cases(), st.lists(LEVELS, min_size=1, max_size=5, unique=True), DTYPES)
def test_the_calibration_curve_counts_entries_in_intervals(case, chosen, kind):
    told, y = judged(case)
    levels = torch.tensor(sorted(chosen), dtype=kind)
    if (levels.diff() <= 0).any():
        return
    found, shares = left_alone(lambda v, at: metrics.calibration_curve(told, v, at), y, levels)
    own = [math.erf(abs(v - m) / t / math.sqrt(2)) for m, t, v in rows(told.mean, told.total_std, y)]
    for level, share in rows(levels, shares):
        least, most = (sum(one <= level + margin for one in own) / len(own) for margin in (-1e-5, 1e-5))
        assert least - 1e-6 <= share <= most + 1e-6
    assert found is levels and shares.dtype == kind
    error = math.fsum(abs(share - level) for level, share in rows(levels, shares)) / len(levels)
    assert math.isclose(metrics.calibration_error(told, y, levels), error, rel_tol=1e-5, abs_tol=1e-6)
    assert metrics.calibration_curve(told, y)[0].dtype == y.dtype


def test_the_default_dtype_reaches_no_score():
    told, y = Predictive(torch.zeros(3, 1, dtype=torch.float64), 1.0), torch.ones(3, 1, dtype=torch.float64)
    torch.set_default_dtype(torch.float32)
    shares = metrics.calibration_curve(told, y)[1]
    torch.set_default_dtype(torch.float64)
    assert shares.dtype == torch.float64 and shares.tolist() == [0.0] * 13 + [1.0] * 6


@PROFILE
@given(cases(exponent=(-25, 25)), st.integers(1, 4))
def test_a_mixture_has_its_own_moments_and_density_at_any_scale(case, count):
    n, k, dtype, matrix = case
    members, y = [Predictive(matrix(), matrix(positive=True), matrix(positive=True)) for _ in range(count)], matrix()
    told = metrics.moment_matched(members)
    means, noise, own = (list(zip(*rows(*(getattr(one, part) for one in members)), strict=True))
                         for part in ("mean", "aleatoric_std", "epistemic_std"))  # fmt: skip
    middle = [math.fsum(m) / count for m in zip(*means, strict=True)]
    size = max(abs(m) for some in means for m in some)
    close(told.mean, middle, dtype, size)
    close(told.aleatoric_std, [math.hypot(*s) / math.sqrt(count) for s in zip(*noise, strict=True)], dtype)
    spread = [math.hypot(*(m - c for m in some), *s) / math.sqrt(count)
              for c, some, s in zip(middle, zip(*means, strict=True), zip(*own, strict=True), strict=True)]  # fmt: skip
    close(told.epistemic_std, spread, dtype, size)
    each = [[sum(density(m, v, t) for m, t, v in list(rows(one.mean, one.total_std, y))[i * k : (i + 1) * k])
             for one in members] for i in range(n)]  # fmt: skip
    wanted = [
        math.log(count) - max(some) - math.log(math.fsum(math.exp(one - max(some)) for one in some)) for some in each
    ]
    found = metrics.mixture_nll(members, y, reduction="none")
    assert found.shape == (n, 1)
    close(found, wanted, dtype, 200.0)
    close(metrics.mixture_nll(members, y), math.fsum(wanted) / n, dtype, 200.0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_an_error_of_more_stds_than_a_float_counts_costs_itself(dtype):
    tiny = torch.finfo(dtype).smallest_normal
    told, y = Predictive(torch.zeros(2, 1, dtype=dtype), tiny), torch.tensor([[3e3], [-3e3]], dtype=dtype)
    assert metrics.crps(told, y, reduction="none").flatten().tolist() == [3e3, 3e3]
    assert metrics.pit(told, y).flatten().tolist() == [1.0, 0.0]
    assert metrics.interval_score(told, y, 0.5).item() == pytest.approx(4 * 3e3)


# Laplace


@st.composite
def regressions(draw, points=(1, 9)):
    """Features, targets, noise stds and a prior precision, in one dtype and layout."""
    n, p, k = draw(st.integers(*points)), draw(st.integers(1, 4)), draw(st.integers(1, 3))
    dtype, layout, generator = draw(DTYPES), draw(LAYOUTS), runtime.seed(draw(SEEDS))
    phi, y = (laid_out(torch.randn(n, c, generator=generator, dtype=dtype), layout) for c in (p, k))
    kind = draw(st.sampled_from(["number", "scalar", "output", "point", "entry"]))
    sigma = torch.rand(n, k, generator=generator, dtype=torch.float64) + 0.5
    noise = {"number": 0.7, "scalar": torch.tensor(0.7), "output": sigma[:1], "point": sigma[:, :1], "entry": sigma}[
        kind
    ]
    if n == 1 and kind in ("point", "entry"):
        noise = sigma[:1]
    sigma = noise.expand(n, k) if isinstance(noise, torch.Tensor) else torch.full((n, k), noise, dtype=torch.float64)
    bias, tau = draw(st.booleans()), draw(st.floats(0.1, 10))
    return phi, y, noise, sigma.double(), bias, tau, kind


@PROFILE
@given(regressions(), SEEDS)
def test_a_posterior_is_that_of_the_textbook(case, seed):
    phi, y, noise, sigma, bias, tau, kind = case
    tensors = (phi, y, noise) if isinstance(noise, torch.Tensor) else (phi, y)

    def fitted(phi, y, noise=noise):
        return laplace.fit((phi, y), noise_std=noise, prior_precision=tau, bias=bias)

    posterior = left_alone(fitted, *tensors)
    full = torch.cat([phi.double(), torch.ones(len(phi), 1)], 1) if bias else phi.double()
    n, p = full.shape
    k, evidence = y.shape[1], 0.0
    x = torch.randn(3, phi.shape[1], generator=runtime.seed(seed), dtype=phi.dtype)
    at = torch.cat([x.double(), torch.ones(3, 1)], 1) if bias else x.double()
    told = left_alone(lambda x: posterior.predict(x, noise_std=0.3), x)
    draws = posterior.sample_functions(x, 2, runtime.seed(seed))
    weights = posterior.sample_weights(2, runtime.seed(seed))
    assert torch.allclose(draws, at @ weights) and draws.shape == (2, 3, k)
    for j in range(k):
        # the function-space form: an n by n inverse, no p by p factor
        kernel = full @ full.T / tau + torch.diag(sigma[:, j] ** 2)
        gain = at @ full.T / tau @ torch.linalg.inv(kernel)
        cov = at @ at.T / tau - gain @ full @ at.T / tau
        assert torch.allclose(told.mean[:, j], gain @ y[:, j].double(), atol=1e-8)
        assert torch.allclose(told.epistemic_std[:, j] ** 2, cov.diagonal(), atol=1e-9)
        assert torch.allclose(posterior.joint_cov(x)[j], cov, atol=1e-9)
        normal = torch.distributions.MultivariateNormal(torch.zeros(n), kernel)
        evidence += normal.log_prob(y[:, j].double()).item()
    assert math.isclose(posterior.log_evidence, evidence, rel_tol=1e-9, abs_tol=1e-7)
    assert told.mean.dtype == torch.float64 and (told.aleatoric_std == 0.3).all()
    assert 0 <= posterior.effective_parameters <= p * k + 1e-9
    if kind not in ("point", "entry") or n == 1:
        assert torch.allclose(posterior.predict(x).aleatoric_std, sigma[:1].expand(3, k))
    halves = [laplace.statistics((phi[i : i + 1], y[i : i + 1]), bias=bias) for i in range(n)]
    together = laplace.statistics((phi, y), bias=bias)
    assert torch.allclose(sum(halves).gram, together.gram) and sum(halves).points == n
    assert torch.allclose(together.square, (y.double() ** 2).sum(0)) and torch.allclose(
        together.cross, full.T @ y.double()
    )


@PROFILE
@given(regressions(points=(6, 9)), st.integers(-30, 30))
def test_units_of_y_do_not_matter(case, exponent):
    phi, y, _, _, bias, tau, _ = case
    c = 2.0**exponent
    one = laplace.fit((phi.double(), y.double()), noise_std=0.7, prior_precision=tau, bias=bias)
    two = laplace.fit((phi.double(), c * y.double()), noise_std=0.7 * c, prior_precision=tau / c**2, bias=bias)
    x = phi.double()
    assert torch.allclose(two.predict(x).mean / c, one.predict(x).mean, atol=1e-10)
    assert torch.allclose(two.predict(x).total_std / c, one.predict(x).total_std)
    assert math.isclose(two.log_evidence + y.numel() * math.log(c), one.log_evidence, rel_tol=1e-9, abs_tol=1e-7)


@PROFILE
@given(st.integers(1, 5), DTYPES, SEEDS, st.integers(-20, 20))
def test_a_cholesky_factor_multiplies_back_at_any_scale(p, dtype, seed, exponent):
    root = torch.randn(2 * p, p, generator=runtime.seed(seed), dtype=dtype)
    given_precision = (root.T @ root + torch.eye(p, dtype=dtype)) * 2.0**exponent
    factor = left_alone(laplace.cholesky, given_precision)
    assert torch.allclose(factor @ factor.T, given_precision, rtol=100 * CLOSE[dtype])
    assert torch.equal(factor, factor.tril()) and (factor.diagonal() > 0).all() and factor.dtype == dtype


# Nets


@PROFILE
@given(cases(outputs=3), st.integers(0, 2), SEEDS)
def test_a_net_is_sums_and_tanhs(case, depth, seed):
    n, d, dtype, matrix = case
    net = models.MLP(d, (3,) * depth, 2, generator=runtime.seed(seed)).to(dtype)
    x = matrix()
    values = x.double().tolist()
    for layer in [*net.hidden, net.head]:
        weight, offset = layer.weight.double().tolist(), layer.bias.double().tolist()
        values = [
            [math.fsum(map(float.__mul__, row, w)) + b for w, b in zip(weight, offset, strict=True)] for row in values
        ]
        values = values if layer is net.head else [[math.tanh(v) for v in row] for row in values]
    size = 3 * (x.abs().max().item() + 1)
    close(left_alone(net, x), [v for row in values for v in row], dtype, size)
    told = left_alone(lambda x: models.predict(net, x, std=0.5), x.clone().requires_grad_())
    assert torch.equal(told.mean, net(x).detach()) and (told.aleatoric_std == 0.5).all() and not told.mean.requires_grad
    noisy = models.predict(models.MeanNoiseNet(net), x)
    assert torch.equal(noisy.mean, net(x)[:, :1].detach()) and torch.equal(
        noisy.aleatoric_std, net(x)[:, 1:].detach().exp()
    )
    learnt = models.predict(models.LearntNoise(net, 0.25), x)
    assert (
        torch.allclose(learnt.aleatoric_std, torch.full((n, 2), 0.25, dtype=dtype))
        and (learnt.epistemic_std == 0).all()
    )


@PROFILE
@given(cases(exponent=(-12, 12)))
def test_standardised_columns_have_mean_0_and_std_1(case):
    n, d, dtype, matrix = case
    x = matrix((n + 1, d))
    layer = left_alone(models.Standardise, x)
    means = [math.fsum(column) / (n + 1) for column in x.double().T.tolist()]
    stds = [math.sqrt(math.fsum((v - m) ** 2 for v in column) / (n + 1))
            for m, column in zip(means, x.double().T.tolist(), strict=True)]  # fmt: skip
    if min(s / max(map(abs, c)) for s, c in zip(stds, x.double().T.tolist(), strict=True)) < 1e-3:
        return
    wanted = [(v - m) / s for row in x.double().tolist() for v, m, s in zip(row, means, stds, strict=True)]
    close(left_alone(layer, x), wanted, dtype, 1e3)


# Flows


def a_flow(d, dtype, seed, activation=torch.tanh):
    generator = runtime.seed(seed)
    couplings = [flows.AffineCoupling([i % 2 == j for i in range(d)], (4,), generator=generator, activation=activation)
                 for j in range(2)]  # fmt: skip
    flow = flows.NormalizingFlow(flows.DiagonalGaussian(d), [couplings[0], flows.ActNorm(d), couplings[1]])
    with torch.no_grad():
        for parameter in flow.parameters():
            parameter.add_(0.3 * torch.randn(parameter.shape, generator=generator))
    flow.layers[1].initialised.fill_(True)
    return flow.to(dtype)


@PROFILE
@given(st.integers(1, 5), st.integers(2, 3), DTYPES, LAYOUTS, SEEDS)
def test_a_flow_is_a_density(n, d, dtype, layout, seed):
    flow = a_flow(d, dtype, seed)
    x = laid_out(torch.randn(n, d, generator=runtime.seed(seed), dtype=dtype), layout)
    z, log_det = left_alone(flow.inverse, x)
    back, opposite = flow(z)
    assert torch.allclose(back, x, atol=1e3 * CLOSE[dtype]) and torch.allclose(
        opposite, -log_det, atol=1e3 * CLOSE[dtype]
    )
    found = left_alone(flow.log_prob, x)
    assert found.shape == (n,) and found.dtype == dtype
    close(flow.forward_kld(x), -math.fsum(found.tolist()) / n, dtype, 100.0)
    for i in range(n):
        jacobian = torch.autograd.functional.jacobian(lambda one: flow.inverse(one)[0], x[i : i + 1]).reshape(d, d)
        means, stds = flow.base.mean.flatten().tolist(), flow.base.log_std.exp().flatten().tolist()
        base = math.fsum(map(density, means, z[i].tolist(), stds))
        wanted = base + math.log(abs(np.linalg.det(jacobian.double().numpy())))
        close(found[i], wanted, dtype, 1e3)
    draws = flow.sample(n, runtime.seed(seed))
    noise = torch.randn(n, d, generator=runtime.seed(seed), dtype=dtype)
    image = flow((flow.base.mean + flow.base.log_std.exp() * noise).detach())[0]
    assert torch.equal(draws, image.detach()) and not draws.requires_grad


@PROFILE
@given(st.integers(1, 300), DTYPES, SEEDS)
def test_a_flow_far_out_says_minus_infinity_or_why_not(exponent, dtype, seed):
    """With relu the log of the stretch grows without bound: the image overflows, and nothing may say NaN."""
    exponent = min(exponent, 37) if dtype is torch.float32 else exponent
    flow, x = a_flow(2, dtype, seed, torch.relu), torch.tensor([[1.0, -1.0], [-1.0, 1.0]], dtype=dtype) * 10.0**exponent
    try:
        assert not flow.log_prob(x).isnan().any()
    except ValueError as error:
        assert "log_prob: NaN at" in str(error) and "torch.tanh" in str(error)
    try:
        with torch.no_grad():
            flow.base.mean.copy_(x[:1])
        assert flow.sample(3, runtime.seed(0)).isfinite().all()
    except ValueError as error:
        assert "a draw: expected finite values" in str(error)


# Training


@PROFILE
@given(cases(), st.floats(1e-4, 1e-1), st.floats(0, 1), st.sampled_from(["cosine", "constant"]))
def test_the_first_step_of_adam_is_its_rate(case, lr, decay, schedule):
    """After one step both moments are the gradient: each weight moves by lr g / (|g| + eps), whatever its size."""
    n, d, dtype, matrix = case
    x, y, weight = matrix(), matrix((n, 1)), torch.nn.Parameter(matrix((d, 1)).contiguous())
    start = weight.detach().clone()
    slope = [math.fsum(2 * (math.fsum(map(float.__mul__, row, start[:, 0].double().tolist())) - v) * row[j]
                       for row, (v,) in zip(x.double().tolist(), y.double().tolist(), strict=True)) / n
             + decay * start[j].item() for j in range(d)]  # fmt: skip

    def loss(x, y):
        return losses.squared_error(x @ weight, y)

    history = left_alone(
        lambda x, y: training.fit(loss, [weight], (x, y), steps=1, lr=lr, weight_decay=decay, schedule=schedule), x, y
    )
    size = max(map(abs, slope))
    for moved, w, g in zip(weight.flatten().tolist(), start.flatten().tolist(), slope, strict=True):
        if abs(g) > 1e-3 * size and abs(g) > 1e-5:
            assert math.isclose(moved, w - lr * g / (abs(g) + 1e-8), rel_tol=1e3 * CLOSE[dtype], abs_tol=lr * 1e-3)
    assert history.train.shape == (1,) and history.train.dtype == torch.float64 and weight.grad is None
    missed = [math.fsum(map(float.__mul__, row, start[:, 0].double().tolist())) - v
              for row, (v,) in zip(x.double().tolist(), y.double().tolist(), strict=True)]  # fmt: skip
    close(history.train, math.fsum(one**2 for one in missed) / n, dtype, 1e4 * size)


@PROFILE
@given(cases(), st.integers(1, 4), SEEDS)
def test_a_bootstrap_holds_rows_that_belong_together(case, members, seed):
    n, _, dtype, matrix = case
    x, y = matrix(), matrix((n, 1))
    many_x, many_y = left_alone(lambda x, y: training.bootstrap((x, y), members, runtime.seed(seed)), x, y)
    given_rows = {tuple(row) for row in torch.cat([x, y], 1).tolist()}
    assert {tuple(row) for row in torch.cat([many_x, many_y], 2).flatten(0, 1).tolist()} <= given_rows
    assert many_x.shape == (members, *x.shape) and many_y.shape == (members, n, 1) and many_x.dtype == dtype


# Data


@PROFILE
@given(cases(outputs=1, exponent=(-30, 30)), st.integers(2, 50))
def test_a_grid_reaches_an_eighth_beyond_either_end(case, count):
    x = case[3]((case[0] + 1, 1))
    grid = left_alone(lambda x: datasets.query_grid(x, count), x)
    low, high = min(x.double().flatten().tolist()), max(x.double().flatten().tolist())
    left, right = low - (high - low) / 8, high + (high - low) / 8
    close(grid, [left + (right - left) * i / (count - 1) for i in range(count)], x.dtype, abs(left) + abs(right))
    assert grid.shape == (count, 1) and grid.dtype == x.dtype


def test_a_grid_beyond_its_dtype_is_refused():
    with pytest.raises(ValueError, match="the range around x: expected finite values, got -inf"):
        datasets.query_grid(torch.tensor([[-1.7e308], [1.7e308]]))


@PROFILE
@given(cases(outputs=1, exponent=(-3, 0)), SEEDS)
def test_toys_are_their_formulas(case, seed):
    _, _, dtype, matrix = case
    x = matrix()
    for name, amplitude in (("homoskedastic", lambda v: 0.2), ("heteroskedastic", lambda v: 0.1 + 0.4 * v)):
        toy, noise = datasets.toy(name), torch.randn(x.shape, generator=runtime.seed(seed), dtype=dtype)
        close(left_alone(toy.noise_std, x), [abs(amplitude(v)) for (v,) in rows(x)], dtype, 1.0)
        wanted = [0.5 * v**2 + 0.25 * v**3 + amplitude(v) * z for v, z in rows(x, noise)]
        close(left_alone(lambda x, toy=toy: toy.observe(x, runtime.seed(seed)), x), wanted, dtype, 1e2)


# Plots


def axes():
    return mpl.figure.Figure().subplots()


def drawn(line):
    return [tuple(map(float, point)) for point in line.get_xydata()]


@PROFILE
@given(cases(outputs=1, exponent=(-5, 5)), st.sampled_from(["total", "aleatoric", "epistemic"]))
def test_what_is_drawn_is_what_was_given(case, part):
    _, _, dtype, matrix = case
    x, told = matrix(), Predictive(matrix(), matrix(positive=True), matrix(positive=True))
    x.requires_grad_()
    ax, curve = axes(), sorted(rows(x, told.mean), key=lambda pair: pair[0])
    left_alone(lambda x, y: plotting.data(ax, x, y), x, told.mean)
    assert drawn(ax.lines[-1]) == list(rows(x, told.mean))
    left_alone(lambda x: plotting.mean(ax, x, told), x)
    assert drawn(ax.lines[-1]) == curve
    plotting.truth(ax, x, told.mean)
    plotting.draws(ax, x, torch.stack([told.mean, told.mean]))
    assert drawn(ax.lines[-1]) == drawn(ax.lines[-2]) == drawn(ax.lines[-3]) == curve
    plotting.band(ax, x, told, part=part, stds=2.0)
    spread = {"total": [math.hypot(a, e) for a, e in rows(told.aleatoric_std, told.epistemic_std)],
              "aleatoric": [a for (a,) in rows(told.aleatoric_std)],
              "epistemic": [e for (e,) in rows(told.epistemic_std)]}[part]  # fmt: skip
    order = sorted(zip(rows(x, told.mean), spread, strict=True), key=lambda one: one[0][0])
    size = max(abs(m) + 2 * s for (_, m), s in order)
    for line, sign in ((ax.lines[-2], -2), (ax.lines[-1], 2)):
        for (_, edge), ((_, m), s) in zip(drawn(line), order, strict=True):
            assert math.isclose(edge, m + sign * s, abs_tol=CLOSE[dtype] * size)
    plotting.std(ax, x, told.total_std)
    assert [b for _, b in drawn(ax.lines[-1])] == [t for _, t in sorted(rows(x, told.total_std), key=lambda p: p[0])]
    plotting.loss(ax, told.mean[:, 0], told.total_std[:, 0], floor=0.5)
    assert drawn(ax.lines[-1]) == [(i, m) for i, (m,) in enumerate(rows(told.mean))]


@settings(PROFILE, max_examples=3)
@given(st.dictionaries(st.sampled_from(["axes.linewidth", "lines.markersize", "xtick.major.size", "axes.xmargin",
       "lines.dashed_pattern", "axes.grid", "lines.solid_capstyle", "savefig.pad_inches", "path.simplify_threshold",
       "svg.fonttype", "pdf.compression", "axes.axisbelow", "agg.path.chunksize"]),
       st.just(None), min_size=5))  # fmt: skip
def test_a_matplotlibrc_changes_no_byte_of_a_figure(keys):
    odd = {"axes.linewidth": 3, "lines.markersize": 11, "xtick.major.size": 9, "axes.xmargin": 0.3, "axes.grid": True,
           "lines.dashed_pattern": [1, 5], "lines.solid_capstyle": "round", "savefig.pad_inches": 1,
           "path.simplify_threshold": 0.9, "svg.fonttype": "none", "pdf.compression": 0, "axes.axisbelow": True,
           "agg.path.chunksize": 7}  # fmt: skip

    def files():
        def draw(ax):
            ax.plot([0, 1, 3], [1, 2, 0], "o--", label="one")

        rc, told = figures.style(), {"png": {"Title": "t"}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
        figure = figures.build(draw)
        return [_exports.image(figure, suffix, facts, rc, dpi=50) for suffix, facts in told.items()]

    plain = files()
    with mpl.rc_context({key: odd[key] for key in keys}):
        mine = dict(mpl.rcParams)
        assert files() == plain
        assert dict(mpl.rcParams) == mine


# What cannot be right

X = torch.linspace(-1, 1, 4, dtype=torch.float64)[:, None]
WRONG_KIND = {
    "a list": [[0.5], [0.5], [0.5], [0.5]],
    "an array": np.full((4, 1), 0.5),
    "text": "0.5",
    "nothing": None,
    "integers": torch.ones(4, 1, dtype=torch.int64),
    "truths": torch.ones(4, 1, dtype=torch.bool),
    "complex": torch.ones(4, 1, dtype=torch.complex64),
}
WRONG_SHAPE = {
    "(4,)": torch.full((4,), 0.5, dtype=torch.float64),
    "(4, 1, 1)": torch.full((4, 1, 1), 0.5, dtype=torch.float64),
    "(0, 1)": torch.ones(0, 1, dtype=torch.float64),
    "(4, 0)": torch.ones(4, 0, dtype=torch.float64),
}
BROADCASTS = {
    "(1, 1)": torch.full((1, 1), 0.5, dtype=torch.float64),
    "(1, 4)": torch.full((1, 4), 0.5, dtype=torch.float64),
    "(4, 2)": torch.full((4, 2), 0.5, dtype=torch.float64),
    "(3, 1)": torch.full((3, 1), 0.5, dtype=torch.float64),
}
OTHER_DTYPE = {"float32": torch.full((4, 1), 0.5, dtype=torch.float32)}
NOT_FINITE = {
    "nan": torch.tensor([[0.5], [math.nan], [0.5], [0.5]], dtype=torch.float64),
    "inf": torch.tensor([[0.5], [math.inf], [0.5], [0.5]], dtype=torch.float64),
    "-inf": torch.tensor([[0.5], [-math.inf], [0.5], [0.5]], dtype=torch.float64),
}
PAIRED = WRONG_KIND | WRONG_SHAPE | BROADCASTS | OTHER_DTYPE
TOLD = Predictive(X, 1.0)
POSTERIOR = laplace.fit((X, X), noise_std=1.0)
FLOW = flows.NormalizingFlow(flows.DiagonalGaussian(1).double(), [])


def net():
    return models.MLP(1, (3,), 1, generator=runtime.seed(0)).double()


def trained(x, y):
    one = net()
    return training.fit(lambda x, y: losses.squared_error(one(x), y), one.parameters(), (x, y), steps=1, lr=1e-2)


def without(values, *names):
    return {name: value for name, value in values.items() if name not in names}


# what is called with a wrong value; the words, one of which must be in the error; the wrong values
SLOTS = {
    "squared_error mean": (lambda v: losses.squared_error(v, X), ["mean"], PAIRED),
    "squared_error y": (lambda v: losses.squared_error(X, v), ["y"], PAIRED),
    "gaussian_nll mean": (lambda v: losses.gaussian_nll(v, X, std=1.0), ["mean"], PAIRED),
    "gaussian_nll y": (lambda v: losses.gaussian_nll(X, v, std=1.0), ["y"], PAIRED),
    "gaussian_nll std": (lambda v: losses.gaussian_nll(X, X, std=v), ["std"], PAIRED),
    "gaussian_nll log_std": (lambda v: losses.gaussian_nll(X, X, log_std=v), ["log_std"], PAIRED),
    "beta_nll y": (lambda v: losses.beta_nll(X, v, log_std=0.0), ["y"], PAIRED),
    "beta_nll log_std": (lambda v: losses.beta_nll(X, X, log_std=v), ["log_std"], without(PAIRED, "nothing")),
    "log_prior parameters": (
        lambda v: losses.log_prior(v, 1.0), ["parameters"], {"net": net(), "text": "w", "number": 3, "none": None}),
    "Predictive mean": (lambda v: Predictive(v, 1.0), ["mean"], WRONG_KIND | WRONG_SHAPE | NOT_FINITE),
    "Predictive aleatoric_std": (lambda v: Predictive(X, v), ["aleatoric_std"], PAIRED | NOT_FINITE),
    "Predictive epistemic_std": (lambda v: Predictive(X, 1.0, v), ["epistemic_std"], PAIRED | NOT_FINITE),
    "rescale shift": (lambda v: TOLD.rescale(shift=v, scale=1.0), ["shift"], without(PAIRED, "(1, 1)") | NOT_FINITE),
    "rescale scale": (lambda v: TOLD.rescale(shift=0.0, scale=v), ["scale"], without(PAIRED, "(1, 1)") | NOT_FINITE),
    "log_prob y": (TOLD.log_prob, ["y"], PAIRED | NOT_FINITE),
    "coverage y": (lambda v: TOLD.coverage(v, 0.5), ["y"], PAIRED | NOT_FINITE),
    "metrics.coverage y": (lambda v: metrics.coverage(TOLD, v, 0.5), ["y"], PAIRED | NOT_FINITE),
    "nll y": (lambda v: metrics.nll(TOLD, v), ["y"], PAIRED | NOT_FINITE),
    "crps y": (lambda v: metrics.crps(TOLD, v), ["y"], PAIRED | NOT_FINITE),
    "interval_score y": (lambda v: metrics.interval_score(TOLD, v, 0.5), ["y"], PAIRED | NOT_FINITE),
    "pit y": (lambda v: metrics.pit(TOLD, v), ["y"], PAIRED | NOT_FINITE),
    "calibration_curve y": (lambda v: metrics.calibration_curve(TOLD, v), ["y"], PAIRED | NOT_FINITE),
    "calibration_error y": (lambda v: metrics.calibration_error(TOLD, v), ["y"], PAIRED | NOT_FINITE),
    "calibration_curve levels": (
        lambda v: metrics.calibration_curve(TOLD, X, v), ["levels"],
        without(WRONG_KIND | WRONG_SHAPE, "nothing", "(4,)") | NOT_FINITE),
    "mixture_nll y": (lambda v: metrics.mixture_nll([TOLD, TOLD], v), ["y"], PAIRED | NOT_FINITE),
    "statistics phi": (
        lambda v: laplace.statistics((v, X)), ["data"],
        without(PAIRED, "(4, 2)", "float32") | NOT_FINITE),
    "statistics y": (
        lambda v: laplace.statistics((X, v)), ["data"],
        without(PAIRED, "(4, 2)", "float32") | NOT_FINITE),
    "statistics noise_std": (
        lambda v: laplace.statistics((X, X), noise_std=v), ["noise_std"],
        without(PAIRED, "nothing", "float32") | NOT_FINITE),
    "fit noise_std": (
        lambda v: laplace.fit((X, X), noise_std=v), ["noise_std"], without(PAIRED, "(1, 1)", "float32") | NOT_FINITE),
    "fit prior_precision": (
        lambda v: laplace.fit((X, X), noise_std=1.0, prior_precision=v), ["prior_precision"], PAIRED | NOT_FINITE),
    "fit weights": (
        lambda v: laplace.fit((X, X.expand(4, 1)), noise_std=1.0, weights=v), ["weights"],
        without(PAIRED, "nothing") | NOT_FINITE),
    "predict x": (POSTERIOR.predict, ["x", "phi"],
        without(PAIRED, "(1, 1)", "(3, 1)", "float32") | NOT_FINITE),
    "predict noise_std": (
        lambda v: POSTERIOR.predict(X, noise_std=v), ["noise_std"], without(PAIRED, "nothing", "float32") | NOT_FINITE),
    "joint_cov x": (POSTERIOR.joint_cov, ["x", "phi"], without(PAIRED, "(1, 1)", "(3, 1)", "float32") | NOT_FINITE),
    "cholesky": (laplace.cholesky, ["precision"], without(PAIRED, "(1, 1)", "(4, 1, 1)") | NOT_FINITE),
    "maximise_evidence": (laplace.maximise_evidence, ["posterior"], WRONG_KIND),
    "net x": (lambda v: net()(v), ["x"], without(PAIRED, "(1, 1)", "(3, 1)")),
    "Standardise x": (models.Standardise, ["x"],
        without(WRONG_KIND | WRONG_SHAPE, "(1, 1)") | {"(1, 1)": BROADCASTS["(1, 1)"]} | NOT_FINITE),
    "predict std": (lambda v: models.predict(net(), X, std=v), ["std"], without(PAIRED, "nothing") | NOT_FINITE),
    "flow log_prob": (FLOW.log_prob, ["x", "z"], without(PAIRED, "(1, 1)", "(3, 1)") | NOT_FINITE),
    "flow forward": (FLOW.forward, ["z", "x"], WRONG_KIND | WRONG_SHAPE),
    "flow forward_kld": (FLOW.forward_kld, ["x", "z"], without(PAIRED, "(1, 1)", "(3, 1)")),
    "ActNorm initialise": (
        lambda v: flows.ActNorm(1).double().initialise(v), ["x"],
        without(PAIRED, "(3, 1)") | NOT_FINITE | {"one value": torch.ones(4, 1, dtype=torch.float64)}),
    "fit x": (lambda v: trained(v, X), ["data: x"], without(PAIRED, "(4, 2)") | NOT_FINITE),
    "fit y": (lambda v: trained(X, v), ["data: y", "y has shape"], without(PAIRED, "(4, 2)") | NOT_FINITE),
    "bootstrap x": (
        lambda v: training.bootstrap((v, X), 2, runtime.seed(0)), ["data"], without(PAIRED, "(4, 2)") | NOT_FINITE),
    "bootstrap y": (
        lambda v: training.bootstrap((X, v), 2, runtime.seed(0)), ["data"], without(PAIRED, "(4, 2)") | NOT_FINITE),
    "bootstrap data": (lambda v: training.bootstrap(v, 2, runtime.seed(0)), ["data"], WRONG_KIND | WRONG_SHAPE),
    "query_grid x": (
        datasets.query_grid, ["x"], without(PAIRED, "(1, 1)", "(3, 1)", "float32") | NOT_FINITE),
    "noise_std x": (datasets.toy("homoskedastic").noise_std, ["x"],
        without(PAIRED, "(1, 1)", "(3, 1)", "float32") | NOT_FINITE),
    "observe x": (lambda v: datasets.toy("homoskedastic").observe(v, runtime.seed(0)), ["x"],
        without(PAIRED, "(1, 1)", "(3, 1)", "float32") | NOT_FINITE),
    "plotting.data x": (lambda v: plotting.data(axes(), v, X), ["x"], "artist"),
    "plotting.data y": (lambda v: plotting.data(axes(), X, v), ["y"], "artist"),
    "plotting.misses": (lambda v: plotting.misses(axes(), X, v, label="one"), ["y"], "artist"),
    "plotting.truth x": (lambda v: plotting.truth(axes(), v, X), ["x"], "artist"),
    "plotting.truth values": (lambda v: plotting.truth(axes(), X, v), ["values"], "artist"),
    "plotting.mean x": (lambda v: plotting.mean(axes(), v, TOLD), ["x"], "artist"),
    "plotting.band x": (lambda v: plotting.band(axes(), v, TOLD), ["x"], "artist"),
    "plotting.std values": (lambda v: plotting.std(axes(), X, v), ["values"], "artist"),
    "plotting.std_panel x": (lambda v: plotting.std_panel(axes(), v, TOLD, top=1.0), ["x"], "artist"),
    "plotting.draws functions": (
        lambda v: plotting.draws(axes(), X, v[None] if isinstance(v, torch.Tensor) else v), ["functions"], "artist"),
    "plotting.heatmap": (
        lambda v: plotting.heatmap(axes(), v, "abcd", limit=1.0), ["matrix"],
        without(PAIRED, "integers", "truths") | {"nan": NOT_FINITE["nan"].expand(4, 4)}),
    "plotting.cloud": (
        lambda v: plotting.cloud(axes(), v, xlim=(0, 1), ylim=(0, 1)), ["points"],
        without(PAIRED, "(4, 2)", "integers") | {"nan": NOT_FINITE["nan"].expand(4, 2)}),
    "plotting.loss train": (
        lambda v: plotting.loss(axes(), v), ["train"],
        without(PAIRED, "(4,)") | {name: value[:, 0] for name, value in NOT_FINITE.items()} | {"(0,)": torch.ones(0)}),
    "plotting.loss held_out": (
        lambda v: plotting.loss(axes(), X[:, 0], v), ["held_out"],
        without(PAIRED, "(4,)", "nothing") | {name: value[:, 0] for name, value in NOT_FINITE.items()}),
    "plotting.strip": (
        lambda v: plotting.strip(axes(), {"seeds": v}), ["seeds"],
        without(PAIRED, "(4,)") | {name: value[:, 0] for name, value in NOT_FINITE.items()} | {"(0,)": torch.ones(0)}),
}  # fmt: skip
ARTIST = without(PAIRED, "integers", "truths", "float32", "complex") | NOT_FINITE  # whole numbers can be drawn


def arrived(value):
    """What an error may call a value by."""
    if isinstance(value, list | tuple):
        return [type(value).__name__, str(len(value)), *(word for one in value for word in arrived(one))]
    if not isinstance(value, torch.Tensor):
        return [type(value).__name__, repr(value), str(value), getattr(value, "__name__", repr(value))]
    bad = value[~torch.isfinite(value)] if value.is_floating_point() else []
    least = [f"{value.min().item():g}"] if value.numel() and not value.is_complex() else []
    sizes = [f"({len(value)},)", f"have {len(value)}:", f"has {len(value)} points", "got 1,"]
    return [str(tuple(value.shape)), str(value.dtype), "Tensor", *sizes, *(str(one.item()) for one in bad), *least]


def refusals(call, words, values, errors=(ValueError, TypeError)):
    """What was not refused as it should: by one line with one of the words in it, and with what arrived."""
    for name, value in values.items():
        before = value.clone() if isinstance(value, torch.Tensor) else None
        try:
            call(value)
        except errors as error:
            said = str(error)
            if "\n" in said or not any(word in said for word in words):
                yield f"{name}: which argument? {said}"
            if not any(one in said for one in [*arrived(value), "exactly one", "constant"]):
                yield f"{name}: what arrived? {said}"
        except Exception as error:
            yield f"{name}: {type(error).__name__}, {error}"
        else:
            yield f"{name}: accepted"
        if before is not None and not torch.equal(torch.nan_to_num(value), torch.nan_to_num(before)):
            yield f"{name}: changed in place"


@pytest.mark.bad_input
@pytest.mark.parametrize("slot", SLOTS)
def test_a_tensor_that_cannot_be_right_is_refused_in_one_line(slot):
    call, words, values = SLOTS[slot]
    assert list(refusals(call, words, ARTIST if values == "artist" else values)) == []


NUMBERS = {"nan": math.nan, "inf": math.inf, "-1": -1, "0": 0, "text": "1", "nothing": None, "truth": True,
           "list": [1.0], "beyond": 10**400}  # fmt: skip
NUMBER_SLOTS = {
    "std": (lambda v: losses.gaussian_nll(X, X, std=v), "std", NUMBERS),
    "beta": (lambda v: losses.beta_nll(X, X, log_std=0.0, beta=v), "beta", without(NUMBERS, "0")),
    "prior_precision": (lambda v: losses.log_prior([X], v), "prior_precision", NUMBERS),
    "aleatoric_std": (lambda v: Predictive(X, v), "aleatoric_std", without(NUMBERS, "0")),
    "epistemic_std": (lambda v: Predictive(X, 1.0, v), "epistemic_std", without(NUMBERS, "0")),
    "scale": (lambda v: TOLD.rescale(shift=0.0, scale=v), "scale", NUMBERS),
    "level": (TOLD.interval, "level", NUMBERS | {"1": 1, "95": 95}),
    "coverage level": (lambda v: metrics.coverage(TOLD, X, v), "level", NUMBERS | {"1": 1}),
    "interval_score level": (lambda v: metrics.interval_score(TOLD, X, v), "level", NUMBERS | {"1": 1}),
    "noise_std": (lambda v: laplace.fit((X, X), noise_std=v), "noise_std", NUMBERS | {"1e120": 1e120, "tiny": 1e-120}),
    "laplace prior": (lambda v: laplace.fit((X, X), noise_std=1.0, prior_precision=v), "prior_precision", NUMBERS),
    "predict noise_std": (lambda v: POSTERIOR.predict(X, noise_std=v), "noise_std", without(NUMBERS, "nothing")),
    "count": (lambda v: POSTERIOR.sample_weights(v, runtime.seed(0)), "count", without(NUMBERS, "beyond")),
    "inputs": (lambda v: models.MLP(v, (), 1, generator=runtime.seed(0)), "inputs", without(NUMBERS, "beyond")),
    "initial_std": (lambda v: models.LearntNoise(net(), v), "initial_std", NUMBERS),
    "d": (flows.DiagonalGaussian, "d", without(NUMBERS, "beyond")),
    "n": (lambda v: FLOW.sample(v, runtime.seed(0)), "n", without(NUMBERS, "beyond")),
    "steps": (lambda v: training.fit(lambda x, y: 0, [X.clone().requires_grad_()], (X, X), steps=v, lr=1.0), "steps",
              without(NUMBERS, "beyond")),
    "lr": (lambda v: training.fit(lambda x, y: 0, [X.clone().requires_grad_()], (X, X), steps=1, lr=v), "lr", NUMBERS),
    "weight_decay": (
        lambda v: training.fit(lambda x, y: 0, [X.clone().requires_grad_()], (X, X), steps=1, lr=1.0, weight_decay=v),
        "weight_decay", without(NUMBERS, "0", "beyond")),
    "members": (lambda v: training.bootstrap((X, X), v, runtime.seed(0)), "members", without(NUMBERS, "beyond")),
    "training n": (lambda v: datasets.toy("homoskedastic").training(v, generator=runtime.seed(0)), "n",
                   without(NUMBERS, "beyond")),
    "grid n": (lambda v: datasets.query_grid(X, v), "n", without(NUMBERS, "beyond")),
    "stds": (lambda v: plotting.band(axes(), X, TOLD, stds=v), "stds", NUMBERS),
    "top": (lambda v: plotting.std_panel(axes(), X, TOLD, top=v), "top", NUMBERS),
    "height": (lambda v: figures.style(height=v), "height", NUMBERS),
    "seed": (runtime.seed, "seed", without(NUMBERS, "0")),
    "floor": (lambda v: plotting.loss(axes(), X[:, 0], floor=v), "floor", {k: NUMBERS[k] for k in ("nan", "inf")}),
    "low": (lambda v: plotting.no_data(axes(), v, 1.0), "low", {k: NUMBERS[k] for k in ("nan", "inf")}),
    "end": (lambda v: plotting.end_label(axes(), 0.0, v, "one"), "y", {k: NUMBERS[k] for k in ("nan", "inf")}),
}  # fmt: skip


@pytest.mark.bad_input
@pytest.mark.parametrize("slot", NUMBER_SLOTS)
def test_a_number_that_cannot_be_right_is_refused_in_one_line(slot):
    call, word, values = NUMBER_SLOTS[slot]
    assert list(refusals(call, [word], values)) == []


OBJECTS = {"text": "net", "number": 3, "tensor": X, "nothing": None, "list": [X]}
OBJECT_SLOTS = {
    **{name: (lambda v, name=name: getattr(metrics, name)(v, X), "predictive", TypeError, OBJECTS)
       for name in ("nll", "crps", "pit", "calibration_curve", "calibration_error")},
    "coverage": (lambda v: metrics.coverage(v, X, 0.5), "predictive", TypeError, OBJECTS),
    "interval_score": (lambda v: metrics.interval_score(v, X, 0.5), "predictive", TypeError, OBJECTS),
    "sharpness": (metrics.sharpness, "predictive", TypeError, OBJECTS),
    "mean": (lambda v: plotting.mean(axes(), X, v), "predictive", TypeError, OBJECTS),
    "band": (lambda v: plotting.band(axes(), X, v), "predictive", TypeError, OBJECTS),
    "std_panel": (lambda v: plotting.std_panel(axes(), X, v, top=1.0), "predictive", TypeError, OBJECTS),
    "moment_matched": (metrics.moment_matched, "members", ValueError, OBJECTS | {"one": TOLD, "empty": []}),
    "mixture_nll": (lambda v: metrics.mixture_nll(v, X), "members", ValueError, OBJECTS | {"one": TOLD, "empty": []}),
    "loss": (lambda v: training.fit(v, net().parameters(), (X, X), steps=1, lr=1.0), "loss", TypeError, OBJECTS),
    "ensemble loss": (
        lambda v: training.fit_ensemble(v, [net(), net()], (X, X), steps=1, lr=1.0), "loss", TypeError, OBJECTS),
    "models": (
        lambda v: training.fit_ensemble(lambda net, x, y: net(x).mean(), v, (X, X), steps=1, lr=1.0), "models",
        TypeError, OBJECTS | {"one": net(), "class": [models.MLP]}),
    "data": (lambda v: training.fit(lambda x, y: x, net().parameters(), v, steps=1, lr=1.0), "data", TypeError,
             OBJECTS | {"three": (X, X, X)}),
    "activation": (
        lambda v: models.MLP(1, (3,), 1, generator=runtime.seed(0), activation=v), "activation", TypeError,
        OBJECTS | {"class": torch.nn.Tanh}),
    "features": (
        lambda v: laplace.fit((X, X), noise_std=1.0, features=v), "features", TypeError, without(OBJECTS, "nothing")),
    "fit_head": (lambda v: laplace.fit_head(v, (X, X), noise_std=1.0), "net", TypeError, OBJECTS),
    "fit_mean_noise": (lambda v: laplace.fit_mean_noise(v, (X, X)), "net", TypeError, OBJECTS),
    "generator": (TOLD.sample, "generator", TypeError, OBJECTS),
    "base": (lambda v: flows.NormalizingFlow(v, []), "base", TypeError, OBJECTS),
    "layers": (lambda v: flows.NormalizingFlow(flows.DiagonalGaussian(1), v), "layers", TypeError, OBJECTS),
    "mask": (lambda v: flows.AffineCoupling(v, (3,), generator=runtime.seed(0)), "mask", TypeError, OBJECTS),
    "answer": (
        lambda v: models.predict(lambda x: v, X, std=1.0), "net", TypeError,
        without(OBJECTS, "tensor") | {"dictionary": {"mean": X}, "three": (X, X, X), "one": (X,), "row": X[:1]}),
    "flow": (lambda v: models.predict(v, X), "net", TypeError, {"flow": FLOW, "lists": lambda x: ([0.0], [0.0])}),
}  # fmt: skip


@pytest.mark.bad_input
@pytest.mark.parametrize("slot", OBJECT_SLOTS)
def test_another_kind_of_object_is_named(slot):
    call, word, error, values = OBJECT_SLOTS[slot]
    assert list(refusals(call, [word], values, error)) == []


@pytest.mark.bad_input
def test_integers_are_drawn_and_scored_by_nobody_else():
    """What matplotlib can show of whole numbers is shown; what is computed with must be floating."""
    whole = torch.tensor([[3], [1], [2]])
    ax = axes()
    plotting.data(ax, whole, whole)
    plotting.truth(ax, whole, whole)
    assert drawn(ax.lines[0]) == [(3, 3), (1, 1), (2, 2)] and drawn(ax.lines[1]) == [(1, 1), (2, 2), (3, 3)]
    plotting.strip(ax, {"a": whole[:, 0], "b": whole[:2, 0]})
    assert [line.get_ydata()[0] for line in ax.lines[2:]] == [2.0, 2.0]
