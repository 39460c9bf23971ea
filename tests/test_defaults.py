"""The defaults of whoever calls reach no result: neither torch's default dtype and device, nor its global generator.

Everything is run twice on the same float64 tensors: as always here, and with float32 and a device without memory as
defaults, where anything made without saying where it lives or how long its numbers are would fail or lose digits.
"""

import contextlib
import copy

import pytest
import torch

from uqlib import Predictive, datasets, flows, laplace, losses, metrics, models, runtime, training

X = torch.linspace(-1, 1, 12, dtype=torch.float64)[:, None]
Y = X**2 + 0.3 * X + 0.1 * torch.randn(12, 1, generator=runtime.seed(0), dtype=torch.float64)
PHI = torch.cat([X, X**2, X**3], 1)
STDS = 0.1 + 0.2 * X.abs()
ONE = torch.full((1, 1), 0.3, dtype=torch.float64)


@contextlib.contextmanager
def other_defaults():
    torch.set_default_dtype(torch.float32)
    try:
        with torch.device("meta"):
            yield
    finally:
        torch.set_default_dtype(torch.float64)


NETS = [models.MLP(1, (4,), k, generator=runtime.seed(0)).double() for k in (1, 1, 2)]


def net(i=0):
    return copy.deepcopy(NETS[i])


def kept(posterior):
    parts = posterior.mean, posterior.factor, posterior.noise_std, posterior.prior_precision
    return [*parts, posterior.log_evidence, posterior.effective_parameters]


def scores():
    told = Predictive(Y, 0.3, STDS)
    joint = [told, Predictive(Y + 0.1, STDS)]
    low, high = told.interval(0.9)
    moved = told.rescale(shift=1.0, scale=2.0)
    mixed = metrics.moment_matched(joint)
    curve = metrics.calibration_curve(told, X)
    parts = [low, high, told.total_std, told.sample(runtime.seed(0)), moved.mean, moved.aleatoric_std]
    parts += [mixed.epistemic_std, metrics.mixture_nll(joint, X), metrics.crps(told, X), metrics.pit(told, X), *curve]
    return [*parts, metrics.interval_score(told, X, 0.5), metrics.calibration_error(told, X), told.coverage(X, 0.5)]


def of_losses():
    parts = [losses.squared_error(X, Y), losses.gaussian_nll(X, Y, std=0.3), losses.gaussian_nll(X, Y, log_std=STDS)]
    return [*parts, losses.beta_nll(X, Y, log_std=-1.0), losses.log_prior([X, Y], 2.0)]


def posteriors():
    found = []
    for noise in (0.3, ONE, STDS, lambda x: 0.1 + 0.2 * x[:, :1].abs()):
        posterior = laplace.fit((PHI, Y), noise_std=noise, prior_precision=(2.0, 0.5))
        found += kept(posterior) + kept(laplace.maximise_evidence(posterior))
        found += kept(laplace.maximise_evidence(posterior, noise_std=False))
        found += kept(laplace.maximise_evidence(posterior, prior_precision=False))
        told = posterior.predict(PHI, noise_std=0.2)
        found += [told.mean, told.total_std, posterior.joint_cov(PHI), posterior.cov, posterior.precision]
        found += [posterior.sample_weights(3, runtime.seed(0)), posterior.sample_functions(PHI, 3, runtime.seed(0))]
    many = laplace.fit((torch.cat([PHI, PHI], 1), Y), noise_std=0.3)  # singular features
    return found + kept(laplace.maximise_evidence(many))


def heads():
    posterior = laplace.fit_head(net(), (X, Y), noise_std=0.3)
    both = laplace.fit_mean_noise(net(2), (X, Y))
    told = both.predict(X)
    found = [*kept(posterior), posterior.predict(X).total_std, told.mean, told.aleatoric_std, told.epistemic_std]
    return found + kept(laplace.maximise_evidence(posterior)) + [both.predict(X, plug_in=True).aleatoric_std]


def trained():
    one, some = net(), [net(0), net(1)]
    options = {"steps": 4, "lr": 0.1, "batch_size": 5, "weight_decay": 0.1, "held_out": (X, Y)}
    alone = training.fit(lambda x, y: losses.squared_error(one(x), y), one.parameters(), (X, Y),
                         generator=runtime.seed(0), **options)  # fmt: skip
    together = training.fit_ensemble(lambda net, x, y: losses.squared_error(net(x), y), some, (X, Y), anchored=True,
                                     generator=runtime.seed(0), **options)  # fmt: skip
    histories = [alone.train, alone.held_out, together.train, together.held_out]
    told = models.predict(models.LearntNoise(one, 0.3), X)
    return [*histories, told.mean, told.aleatoric_std, *(p.detach() for one in some for p in one.parameters()),
            *training.bootstrap((X, Y), 3, runtime.seed(0)), models.Standardise(X)(X)]  # fmt: skip


def of_flows():
    flow = flows.NormalizingFlow(
        flows.DiagonalGaussian(2),
        [flows.AffineCoupling((True, False), (3,), generator=runtime.seed(0)), flows.ActNorm(2)],
    ).double()
    pairs = torch.cat([X, Y], 1)
    flow.initialise(pairs)
    return [flow.log_prob(pairs), flow.sample(4, runtime.seed(0)), flow.forward_kld(pairs), *flow.inverse(pairs)]


def data():
    toy = datasets.toy("heteroskedastic")
    return [
        datasets.query_grid(X, 7),
        toy.noise_std(X),
        toy.observe(X, runtime.seed(0)),
        runtime.seed(0).initial_seed(),
    ]


@pytest.mark.parametrize(
    "run", [scores, of_losses, posteriors, heads, trained, of_flows, data], ids=lambda f: f.__name__
)
def test_no_default_reaches_a_result(run):
    usual = run()
    with other_defaults():
        other = run()
    assert len(usual) == len(other)
    for i, (one, two) in enumerate(zip(usual, other, strict=True)):
        if isinstance(one, torch.Tensor):
            assert two.device.type == "cpu" and two.dtype == one.dtype == torch.float64, i
            assert torch.equal(one, two), i
        else:
            assert one == two, i
