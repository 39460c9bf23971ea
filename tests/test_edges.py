"""Edges that a wrong bound, sign or index would move, each against a value that is worked out here another way."""

import functools
import math
import re
import sys

import numpy as np
import pytest
import torch
from torch import nn

from uqlib import Predictive, _optimise, flows, laplace, losses, metrics, models, runtime, training
from uqlib.laplace import _evidence

EPS = 2.0**-52
X = torch.linspace(-1, 1, 6, dtype=torch.float64)[:, None]


def net(seed=0, outputs=1, widths=(3,)):
    return models.MLP(1, widths, outputs, generator=runtime.seed(seed))


def refused(call, words, error=ValueError):
    with pytest.raises(error, match=words):
        call()


# Predictions and scores


def test_an_interval_includes_its_edges():
    """With a std of zero both edges are the mean, and the mean is inside."""
    assert Predictive(X, 0.0).coverage(X, 0.5) == metrics.coverage(Predictive(X, 0.0), X, 0.9).value == 1.0


def test_one_std_of_zero_among_many_has_no_density():
    std = torch.ones_like(X)
    std[2] = 0
    for call in (Predictive(X, std).log_prob, lambda y: metrics.crps(Predictive(X, std), y)):
        refused(lambda call=call: call(X), "the total std is 0 at 1 entries")


def test_an_entry_at_a_level_is_inside_it():
    """Levels at the entries' own: the i-th smallest interval holds i entries, its own edge included."""
    y = torch.tensor([[0.3], [-0.7], [1.1], [1.9]])
    levels = torch.erf(y.abs() / math.sqrt(2)).flatten().sort().values
    assert metrics.calibration_curve(Predictive(torch.zeros(4, 1), 1.0), y, levels)[1].tolist() == [
        0.25,
        0.5,
        0.75,
        1.0,
    ]


@pytest.mark.bad_input
def test_levels_lie_between_0_and_1_and_rise():
    told = Predictive(X, 1.0)
    for levels in ([0.0, 0.5], [-0.5, 0.5], [0.5, 1.0], [0.5, 0.5], [0.5, 0.4], [0.4, 0.2, 0.5], [1.5], [-0.1]):
        refused(
            lambda levels=levels: metrics.calibration_curve(told, X, torch.tensor(levels)), "levels: expected rising"
        )
    assert len(metrics.calibration_curve(told, X, torch.tensor([0.5]))[1]) == 1


@pytest.mark.bad_input
def test_members_are_compared_with_the_first():
    one = Predictive(X, 1.0)
    shorter, shallower = Predictive(X[:2], 1.0), Predictive(X.float(), 1.0)
    refused(lambda: metrics.moment_matched([one, one, shorter]), "member 2 has shape .* member 0 has shape")
    words = "member 2 is torch.float32 but member 0 is torch.float64"
    refused(lambda: metrics.moment_matched([one, one, shallower]), words, TypeError)
    refused(lambda: metrics.moment_matched([one, X]), "expected at least one Predictive")


# Training


def test_a_step_to_no_number_is_refused_though_the_loss_was_one():
    """The root of |w| is 0 at w = 0, and has no slope there; another weight stays finite."""
    for place in (0, 1):
        weight = nn.Parameter(torch.tensor([[1.0], [1.0]]))
        with torch.no_grad():
            weight[place] = 0.0
        apart = nn.Parameter(torch.ones(1, 1))
        for parameters in ([weight, apart], [apart, weight]):

            def loss(x, y, weight=weight, apart=apart):
                return weight.abs().sqrt().sum() + apart.sum()

            with torch.no_grad():
                weight.copy_(torch.tensor([[1.0], [1.0]]))
                weight[place] = 0.0
            refused(lambda p=parameters, loss=loss: training.fit(loss, p, (X, X), steps=1, lr=0.1),
                    "a weight is not finite after step 1 of 1", FloatingPointError)  # fmt: skip
    nets = [models.MLP(1, (), 1, generator=runtime.seed(i)) for i in range(2)]
    with torch.no_grad():
        nets[1].head.bias.zero_()
    before = [p.detach().clone() for one in nets for p in one.parameters()]
    loss = lambda net, x, y: net.head.bias.abs().sqrt().sum() + net(x).mean()  # noqa: E731
    refused(lambda: training.fit_ensemble(loss, nets, (X, X), steps=1, lr=0.1), "a weight is not", FloatingPointError)
    assert all(torch.equal(a, b) for a, b in zip(before, (p for one in nets for p in one.parameters()), strict=True))


def test_a_parameter_that_the_loss_does_not_know_stays():
    used, unused = nn.Parameter(torch.ones(2, 1)), nn.Parameter(torch.ones(1, 3))
    training.fit(lambda x, y: used.sum(), [used, unused], (X, X), steps=3, lr=0.1)
    assert torch.equal(unused, torch.ones(1, 3)) and (used < 1).all()
    training.fit(lambda x, y: used.sum(), [unused, used], (X, X), steps=3, lr=0.1)
    assert torch.equal(unused, torch.ones(1, 3))


def test_what_a_history_holds_and_a_loss_sees_has_no_gradient():
    one, seen = net(), []

    def loss(x, y):
        seen.append(x.requires_grad or y.requires_grad)
        return losses.squared_error(one(x), y)

    given = X.clone().requires_grad_()
    history = training.fit(loss, one.parameters(), (given, X), steps=2, lr=0.1, held_out=(given, X))
    each = lambda net, x, y: losses.squared_error(net(x), y)  # noqa: E731
    many = training.fit_ensemble(each, [net(0), net(1)], (given, X), steps=2, lr=0.1, held_out=(given, X))
    for kept in (history.train, history.held_out, many.train, many.held_out):
        assert not kept.requires_grad and kept.dtype == torch.float64
    assert not any(seen) and given.grad is None
    assert not any(part.requires_grad for part in training.bootstrap((given, X), 2, runtime.seed(0)))


def test_members_may_draw_in_their_loss_each_for_itself():
    nets, seen = [models.MLP(1, (), 1, generator=runtime.seed(0)) for _ in range(2)], []
    with torch.random.fork_rng():
        torch.manual_seed(0)
        history = training.fit_ensemble(
            lambda net, x, y: losses.squared_error(net(x) + 0.1 * torch.randn(x.shape), y),
            nets,
            (X, X),
            steps=2,
            lr=0.1,
        )
    assert history.train[0, 0] != history.train[0, 1] and not seen


@pytest.mark.bad_input
def test_the_first_parameter_says_what_the_data_must_be():
    first, last = nn.Parameter(torch.ones(1, 1)), nn.Parameter(torch.ones(1, 1, dtype=torch.float32))
    loss = lambda x, y: first.sum() + last.sum()  # noqa: E731
    for options in ({"data": (X.float(), X)}, {"data": (X, X.float())}, {"data": (X, X), "held_out": (X, X.float())}):
        refused(lambda o=options: training.fit(loss, [first, last], steps=1, lr=0.1, **o),
                "float32 but the first parameter is torch.float64", TypeError)  # fmt: skip
    nets = [models.MLP(1, (3,), 1, generator=runtime.seed(i)) for i in range(2)]
    for one in nets:  # all but the first
        one.hidden[0].bias = nn.Parameter(one.hidden[0].bias.detach().float())
        one.head.float()
    for options in ({"data": (X.float(), X)}, {"data": (X, X), "held_out": (X.float(), X)}):
        refused(lambda o=options: training.fit_ensemble(lambda net, x, y: net(x).mean(), nets, steps=1, lr=0.1, **o),
                "float32 but the first parameter is torch.float64", TypeError)  # fmt: skip
    refused(lambda: training.bootstrap((X, X.float()), 2, runtime.seed(0)),
            "data: y is torch.float32 but data: x is torch.float64", TypeError)  # fmt: skip


@pytest.mark.bad_input
def test_members_that_cannot_be_trained_together_are_refused():
    def fitted(nets, data=(X, X), loss=lambda net, x, y: losses.squared_error(net(x), y), **options):
        return training.fit_ensemble(loss, nets, data, steps=2, lr=0.1, **options)

    frozen = [net(0), net(1)]
    frozen[1].head.bias.requires_grad_(False)
    refused(lambda: fitted(frozen), "needs no gradient")
    tied = [nn.Sequential(part := net(i).head, nn.Tanh(), part) for i in range(2)]
    refused(lambda: fitted(tied), "net 0 uses one parameter in two places")
    refused(
        lambda: fitted([net(0), net(1)], loss=lambda net, x, y: net(x)), r"expected a scalar for each net, got shape"
    )
    refused(lambda: fitted([net(0), net(1)], (X.expand(2, 6, 1).long(), X)), "data: x", TypeError)
    refused(lambda: fitted([net(0), net(1)], (torch.full((2, 6, 1), math.nan), X)), "data: x: expected finite")
    refused(lambda: fitted([net(0), net(1)], (X.expand(2, 6, 1)[:, :0], X)), "data: x: expected at least one entry")
    broken = [net(i) for i in range(4)]
    with torch.no_grad():
        for i in (1, 2):
            broken[i].head.bias.fill_(math.inf)
    refused(lambda: fitted(broken), "the loss of net 1 is not finite at step 0 of 2", FloatingPointError)
    shared = [net(0), net(1)]
    shared[1].head.bias = shared[0].head.bias
    refused(lambda: fitted(shared), "two members share a parameter")
    refused(lambda: fitted([net(0), net(1)], anchored=True), "nothing pulls to the anchors")
    refused(lambda: fitted([net(0), net(1)], batch_size=2), "generator: batch_size needs one")
    refused(lambda: fitted([net(0), net(1)], batch_size=2, generator=3), "generator: expected", TypeError)


@pytest.mark.bad_input
def test_wrong_generators_and_parameters_are_refused():
    one = net()
    loss = lambda x, y: losses.squared_error(one(x), y)  # noqa: E731
    refused(lambda: training.fit(loss, one.parameters(), (X, X), steps=1, lr=0.1, batch_size=2, generator=3),
            "generator: expected a torch.Generator", TypeError)  # fmt: skip
    for generator in (None, 3):
        refused(lambda g=generator: training.bootstrap((X, X), 2, g), "generator: expected", TypeError)
        refused(lambda g=generator: flows.DiagonalGaussian(2).sample(3, g), "generator: expected", TypeError)
    refused(lambda: training.fit(loss, [1.0], (X, X), steps=1, lr=0.1), "got float at place 0", TypeError)
    refused(lambda: training.fit(loss, [], (X, X), steps=1, lr=0.1), "at least one tensor, got none")
    refused(lambda: training.fit(loss, one.parameters(), (X, X), steps=1, lr=0.1, schedule="linear"), "'cosine' or")


def test_anchors_stay_where_the_weights_started():
    """Without a slope in the loss, only the pull is left: from another start back to the anchor there is none."""
    nets = [models.MLP(1, (), 1, generator=runtime.seed(i)) for i in range(2)]
    start = [p.detach().clone() for one in nets for p in one.parameters()]
    training.fit_ensemble(lambda net, x, y: 0 * net(x).mean(), nets, (X, X), steps=5, lr=0.1, weight_decay=1.0,
                          anchored=True)  # fmt: skip
    assert all(torch.equal(p, q) for p, q in zip(start, (p for one in nets for p in one.parameters()), strict=True))
    training.fit_ensemble(lambda net, x, y: net(x).mean() - 0.5 * net.head.bias.sum(), nets, (X, X), steps=600, lr=0.05,
                          weight_decay=1.0, anchored=True)  # fmt: skip
    for one, anchor in zip(nets, start[1::2], strict=True):  # the slope of the loss at the bias is 1 - 1/2
        assert one.head.bias.item() == pytest.approx(anchor.item() - 0.5, abs=1e-4)


@pytest.mark.bad_input
def test_an_update_needs_a_gradient_for_each_weight():
    weights = [torch.ones(1, 1), torch.ones(1, 1)]
    _, update = _optimise.adam(weights, 1, 0.1, "constant", 1.0, anchored=True)
    refused(lambda: update(0, [torch.ones(1, 1)]), "longer than")
    assert [one.item() for one in weights] == [1.0, 1.0]


@pytest.mark.parametrize(
    ("pytest_runs", "disable", "kernel", "terminal", "bar"),
    [(None, "", False, True, True), (None, "0", False, True, True), (None, "1", False, True, False),
     ("yes", "", False, True, False), (None, "", False, False, False), (None, "", True, False, True),
     ("yes", "1", True, True, False)],
)  # fmt: skip
def test_a_bar_on_a_terminal_or_in_a_notebook_only(monkeypatch, pytest_runs, disable, kernel, terminal, bar):
    made = {}
    monkeypatch.setattr(_optimise, "tqdm", lambda steps, **options: made.update(options) or steps)
    monkeypatch.delenv("PYTEST_CURRENT_TEST", raising=False)
    if pytest_runs:
        monkeypatch.setenv("PYTEST_CURRENT_TEST", pytest_runs)
    monkeypatch.setenv("TQDM_DISABLE", disable)
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    if kernel:
        monkeypatch.setitem(sys.modules, "ipykernel", sys)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal, raising=False)
    assert list(_optimise.progress(4)) == [0, 1, 2, 3]
    assert made == ({"delay": 1.0, "leave": False} if bar else {})


def test_each_epoch_of_each_member_is_an_order_of_all_rows():
    for members, batch in ((None, 4), (1, 4), (3, 4), (3, 6), (2, 1)):
        found = _optimise.batches(6, batch, runtime.seed(0), members)
        epochs = [torch.cat([next(found) for _ in range(-(-6 // batch))], -1) for _ in range(3)]
        for rows in epochs:
            assert rows.shape == ((members, 6) if members else (6,))
            assert torch.equal(rows.sort(-1).values, torch.arange(6).expand(rows.shape))
        generator = runtime.seed(0)
        wanted = [torch.randperm(6, generator=generator) for _ in range(3 * (members or 1))]
        assert torch.equal(torch.stack(epochs).reshape(-1, 6), torch.stack(wanted))


# Flows


class Doubling(nn.Module):
    """A layer that works in place."""

    def forward(self, z):
        return z.mul_(2), torch.full((len(z),), z.shape[1] * math.log(2))

    def inverse(self, x):
        return x.div_(2), torch.full((len(x),), -x.shape[1] * math.log(2))


def test_starting_a_flow_leaves_the_sample_alone():
    x = torch.randn(5, 2, generator=runtime.seed(0))
    kept = x.clone()
    flow = flows.NormalizingFlow(flows.DiagonalGaussian(2), [flows.ActNorm(2), Doubling()])
    flow.initialise(x.requires_grad_())
    assert torch.equal(x, kept) and x.grad is None
    assert torch.allclose(flow.layers[0].shift[0], kept.mean(0) / 2)
    refused(lambda: flow.layers[0].initialise(kept), "initialised already", RuntimeError)


@pytest.mark.bad_input
def test_a_base_needs_both_and_a_mask_only_truths():
    class Half(nn.Module):
        def log_prob(self, z):
            return z[:, 0]

    refused(lambda: flows.NormalizingFlow(Half(), []), "base: expected a module with log_prob and sample", TypeError)
    for mask in ((True, 0), (1, False), (True, None)):
        refused(
            lambda m=mask: flows.AffineCoupling(m, (3,), generator=runtime.seed(0)), "mask: expected truths", TypeError
        )


# Laplace: arguments


def regression(n=8, p=3, k=2, seed=0):
    generator = runtime.seed(seed)
    phi = torch.randn(n, p, generator=generator)
    return phi, phi @ torch.randn(p, k, generator=generator) + 0.3 * torch.randn(n, k, generator=generator)


def test_one_std_in_a_matrix_is_that_of_all_outputs():
    phi, y = regression()
    number = laplace.fit((phi, y), noise_std=0.5)
    matrix = laplace.fit((phi, y), noise_std=torch.full((1, 1), 0.5))
    assert torch.equal(number.mean, matrix.mean) and torch.equal(matrix.noise_std, torch.full((1, 2), 0.5))
    at = torch.full((8, 1), 0.5).requires_grad_()
    for noise in (torch.full((1, 2), 0.5), torch.full((8, 1), 0.5), torch.full((8, 2), 0.5)):
        same = laplace.fit((phi, y), noise_std=noise.requires_grad_())
        assert torch.allclose(same.mean, number.mean) and same.log_evidence == pytest.approx(number.log_evidence)
        parts = (same.mean, same.factor, same.noise_std, same.predict(phi, noise_std=at).total_std)
        assert not any(part.requires_grad for part in parts)


def test_what_is_fitted_has_no_gradient():
    phi, y = regression()
    weights = torch.randn(4, 2, generator=runtime.seed(1)).requires_grad_()
    posterior = laplace.fit((phi.requires_grad_(), y.requires_grad_()), noise_std=0.5, weights=weights)
    told = posterior.predict(phi)
    assert not posterior.statistics.cross.requires_grad and not posterior.statistics.square.requires_grad
    for part in (posterior.mean, posterior.factor, told.mean, told.epistemic_std, posterior.statistics.gram):
        assert not part.requires_grad
    head = laplace.fit_head(one := net(outputs=2), (X, X.expand(6, 2)), noise_std=0.5)
    both = laplace.fit_mean_noise(one, (X, X))
    for part in (
        head.mean,
        head.predict(X).mean,
        both.mean_head.mean,
        both.log_std_head.mean,
        both.predict(X).total_std,
    ):
        assert not part.requires_grad


@pytest.mark.bad_input
def test_stds_and_precisions_have_bounds():
    phi, y = regression()
    for name in ("noise_std", "prior_precision"):
        for value in (1e-100, 1e100, 5e-101, 1.5e100):
            options = {"noise_std": 1.0} | {name: value}
            refused(lambda o=options: laplace.fit((phi, y), **o), f"{name}: expected a number between 1e-100 and 1e100")
    for value in (2e-100, 9e99):
        refused(lambda v=value: laplace.fit((phi, y), noise_std=torch.tensor([[v, -1.0]])), "every std above 0")
    for wrong, words in ((torch.tensor([[0.5, 0.0]]), "above 0, got 0"),
                         (torch.tensor([[0.5, -0.5]]), "above 0, got -0.5"),
                         (torch.tensor([[0.5, math.inf]]), "finite values, got inf"),
                         (torch.tensor([[0.5, 1e101]]), "between 1e-100 and 1e100"),
                         (torch.full((1, 3), 0.5), r"shape \(1, 2\)"),
                         (torch.full((7, 1), 0.5), r"\(8, 1\)")):  # fmt: skip
        refused(lambda w=wrong: laplace.fit((phi, y), noise_std=w), words)
    refused(
        lambda: laplace.fit((phi, y), noise_std=torch.ones(1, 2).long()), "noise_std: expected a floating", TypeError
    )
    for value in (2e-100, 9e99):
        assert laplace.fit((phi, y), noise_std=1.0, prior_precision=value).prior_precision[0] == value
    at = torch.full((8, 1), 0.5)
    at[3] = 0.0
    refused(lambda: laplace.fit((phi, y), noise_std=at), "above 0, got 0")
    refused(lambda: laplace.fit((phi, y), noise_std=torch.full((8,), 0.5)), r"got \(8,\)")


@pytest.mark.bad_input
def test_a_batch_that_is_no_pair_is_told_from_a_pair_that_is_none():
    phi, y = regression()
    for data, words in (([(phi, y), phi], "batch 1 to be a pair of tensors .phi, y., got Tensor"),
                        ((part for part in (phi, y)), "batch 0 to be a pair of tensors .phi, y., got Tensor"),
                        ((phi, y.numpy()), "batch 0 to be a pair of tensors .phi, y., got Tensor, ndarray"),
                        ([(phi, y), (phi, 3.0)], "batch 1 .* got Tensor, float")):  # fmt: skip
        with pytest.raises(TypeError) as refusal:
            laplace.statistics(data)
        assert re.search(words + "$", str(refusal.value))


@pytest.mark.bad_input
def test_another_device_is_named():
    phi, y = regression()
    away, posterior = torch.device("meta"), laplace.fit((phi, y), noise_std=0.5)
    refused(lambda: laplace.statistics((phi, y.to(away))), "phi is on cpu but y is on meta")
    refused(lambda: posterior.predict(phi.to(away)), "phi is on meta but the posterior is on cpu")
    other = (phi.to(away), y.to(away))
    refused(lambda: laplace.statistics([(phi, y), other]), "phi is on meta in this batch, on cpu in the first")


@pytest.mark.bad_input
def test_what_a_mean_noise_posterior_refuses():
    two = net(outputs=2)
    posterior = laplace.fit_mean_noise(two, (X, X))
    refused(lambda: posterior.predict(X, plug_in=1), "plug_in: expected True or False, got 1", TypeError)
    refused(lambda: laplace.fit_mean_noise(net(outputs=3), (X, X)), "expected 2k outputs .*, got 3")
    assert laplace.fit_mean_noise(net(outputs=4), (X, X.expand(6, 2))).mean_head.mean.shape == (4, 2)
    assert laplace.fit_mean_noise(net(outputs=6), (X, X.expand(6, 3))).mean_head.mean.shape == (4, 3)
    refused(lambda: laplace.fit_mean_noise(two, (X, X.expand(6, 2))), r"expected shape \(6, 1\), got \(6, 2\)")
    told = posterior.predict(X, plug_in=True)
    assert torch.allclose(told.aleatoric_std, two(X)[:, 1:].exp().detach())
    assert torch.allclose(told.mean, two(X)[:, :1].detach())
    before = told.aleatoric_std.clone()
    with torch.no_grad():
        for parameter in two.head.parameters():
            parameter.add_(1.0)
    noise_at = posterior.mean_head.noise_at
    assert torch.allclose(noise_at(X), before)  # the noise is that of the time of the fit


def test_the_prior_is_standard_normal_unless_told():
    phi, y = regression()
    two = net(outputs=2)
    both = laplace.fit_mean_noise(two, (X, X))
    for posterior in (laplace.posterior(laplace.statistics((phi, y))), laplace.fit((phi, y), noise_std=0.5),
                      laplace.fit_head(two, (X, X.expand(6, 2)), noise_std=0.5),
                      both.mean_head, both.log_std_head):  # fmt: skip
        assert posterior.prior_precision.tolist() == [1.0] * 4


def test_a_head_whose_weight_is_computed_is_refused_before_it_is_read():
    """While training, each look at a spectrally normalised weight takes a step of its power iteration."""
    two = net(outputs=2)
    with torch.random.fork_rng(devices=[]):  # which draws where the iteration starts
        two.head = nn.utils.parametrizations.spectral_norm(two.head)
    before = {name: buffer.clone() for name, buffer in two.named_buffers()}
    for call in (lambda: laplace.fit_mean_noise(two, (X, X)), lambda: laplace.fit_head(two, (X, X), noise_std=0.5)):
        refused(call, "net: head.* acts differently in training mode")
    assert before and all(torch.equal(buffer, before[name]) for name, buffer in two.named_buffers())
    laplace.fit_mean_noise(two.eval(), (X, X))


# Laplace: Cholesky


def test_asymmetry_is_measured_in_the_scale_of_its_entry():
    """Ten thousand roundings of sqrt(P_ii P_jj) are the bound, on either side of the diagonal."""
    scales = torch.tensor([1.0, 1e6, 1e-3])
    base = (torch.eye(3) + 0.2) * scales[:, None] * scales
    root = base.diagonal().sqrt()
    for i, j in ((0, 1), (1, 0), (1, 2), (2, 0)):
        for sign in (1, -1):
            for share, right in ((0.9e4, True), (1.1e4, False)):
                precision = base.clone()
                precision[i, j] += sign * share * EPS * root[i] * root[j]
                if right:
                    laplace.cholesky(precision)
                else:
                    refused(lambda p=precision: laplace.cholesky(p), "expected a symmetric matrix")


@pytest.mark.parametrize("p", [2, 4, 9])
def test_a_pivot_of_a_thousand_roundings_times_root_p_is_refused(p):
    """[[1, 1], [1, 1 + d]] has the last pivot d / (1 + d) of its diagonal entry; the others do not couple."""
    for share, right in ((1.1, True), (0.9, False)):
        precision = torch.eye(p)
        precision[-2:, -2:] = 1.0
        precision[-1, -1] += share * 1e3 * math.sqrt(p) * EPS
        if right:
            assert laplace.cholesky(precision).isfinite().all()
        else:
            refused(lambda m=precision: laplace.cholesky(m), f"pivot {p} of {p}")
    many = torch.stack([torch.eye(p), precision])
    refused(lambda: laplace.cholesky(many), f"singular to rounding: pivot {p} of {p}")


@pytest.mark.bad_input
def test_what_has_no_factor():
    for wrong, words in ((torch.ones(2, 3), "got .*torch.float64 .*2, 3"), (torch.ones(2, 2, 2, 2), "expected float64"),
                         (torch.ones(3), "expected float64"), (torch.ones(0, 0), "expected float64"),
                         (torch.eye(2).half(), "torch.float16"), ([[1.0]], "list"),
                         (torch.tensor([[math.nan]]), "finite values, got nan"),
                         (torch.tensor([[1.0, 0.0], [0.0, -2.0]]), "pivot 2 of 2 is -2"),
                         (torch.tensor([[-1.0, 0.0], [0.0, 1.0]]), "pivot 1 of 2 is -1"),
                         (torch.tensor([[1.0, 0.0], [0.0, 0.0]]), "pivot 2 of 2 is 0"),  # symmetric, so not that
                         (torch.tensor([[4.0, 2.0, 0.0], [2.0, 0.5, 0.0], [0.0, 0.0, 1.0]]),
                          "pivot 2 of 3 is -0.5")):  # fmt: skip
        refused(lambda w=wrong: laplace.cholesky(w), words)


# Laplace: evidence


def textbook_evidence(phi, y, sigma, tau):
    """The log density of y under N(0, Phi T^-1 Phi' + D^2), by a determinant and a solve of n by n matrices."""
    phi, y, sigma, tau = (np.asarray(part, dtype=float) for part in (phi, y, sigma, tau))
    total = 0.0
    for j in range(y.shape[1]):
        kernel = phi / tau @ phi.T + np.diag(sigma[:, j] ** 2)
        log_det = np.linalg.slogdet(kernel)[1]
        total -= 0.5 * (y[:, j] @ np.linalg.solve(kernel, y[:, j]) + log_det + len(y) * math.log(2 * math.pi))
    return total


def with_ones(phi):
    return torch.cat([phi, torch.ones(len(phi), 1)], 1)


CASES = {
    "plain": {"bias": False},
    "bias": {"bias": True},
    "outputs": {"bias": True, "noise": [[0.2, 0.9]]},
    "points": {"bias": True, "noise": np.linspace(0.3, 1.2, 8)[:, None]},
    "entries": {"bias": False, "noise": np.linspace(0.3, 1.2, 16).reshape(8, 2)},
    "singular": {"bias": False, "double": True},
    "small": {"bias": False, "size": 1e-3},
    "given": {"bias": True, "given": True, "noise": [[0.2, 0.9]]},
}


def built(case):
    phi, y = (part * CASES[case].get("size", 1.0) for part in regression(seed=3))
    options = CASES[case]
    phi = torch.cat([phi, phi], 1) if options.get("double") else phi
    noise = torch.tensor(options["noise"]) if "noise" in options else 0.4
    tau = (0.7, 0.2) if options["bias"] else 0.7
    full = with_ones(phi) if options["bias"] else phi
    weights = 5 * torch.randn(full.shape[1], 2, generator=runtime.seed(5)) if options.get("given") else None
    posterior = laplace.fit((phi, y), noise_std=noise, prior_precision=tau, bias=options["bias"], weights=weights)
    sigma = noise.expand(8, 2) if isinstance(noise, torch.Tensor) else torch.full((8, 2), noise)
    taus = [0.7] * phi.shape[1] + [0.2] * options["bias"]
    return posterior, full, y, sigma, taus


@pytest.mark.parametrize("case", CASES)
def test_evidence_along_eigenvectors_is_that_of_refits(case):
    """Up to a constant, at any factor on tau and sigma; and where the search begins."""
    posterior, full, y, sigma, taus = built(case)
    value, rms, largest = _evidence._along_eigenvectors(posterior)
    places = [(0.0, 0.0), (1.3, -0.4), (-2.0, 0.7), (3.0, 1.1), (-4.0, -1.0)]
    found = [value(*(torch.tensor(v) for v in place)).item() for place in places]
    wanted = []
    for t, s in places:
        if CASES[case].get("given"):
            wanted.append(laplace_at(full, y, sigma * math.exp(s), np.array(taus) * math.exp(t), posterior.mean))
        else:
            wanted.append(textbook_evidence(full, y, sigma * math.exp(s), np.array(taus) * math.exp(t)))
    for one, other in zip(found, wanted, strict=True):
        assert one - found[0] == pytest.approx(other - wanted[0], abs=1e-6, rel=1e-9)
    many = value(torch.tensor([0.0, 1.3]), torch.tensor([0.0, -0.4]))
    assert many.tolist() == pytest.approx(found[:2])

    std = posterior.noise_std[0]
    scaled = np.asarray(full)[:, :, None] / (
        np.asarray(sigma / std)[:, None] if posterior.statistics.per_point else 1.0
    )
    grams = [
        np.einsum("np,nq->pq", scaled[..., j % scaled.shape[2]], scaled[..., j % scaled.shape[2]]) for j in range(2)
    ]
    root = np.sqrt(taus)
    eigenvalues = [np.linalg.eigvalsh(g / root[:, None] / root) / std[j].item() ** 2 for j, g in enumerate(grams)]
    assert largest == pytest.approx(math.log(max(map(np.max, eigenvalues))), abs=1e-6)
    total = (y / sigma).square().sum().item()
    if CASES[case].get("given"):
        total = max(total, ((y - full @ posterior.mean) / sigma).square().sum().item())
    assert rms == pytest.approx(0.5 * math.log(total / 16))


def laplace_at(full, y, sigma, taus, weights):
    """Laplace's evidence with the weights held: the joint density there, with the volume of the posterior."""
    full, y, sigma, w = (np.asarray(part, dtype=float) for part in (full, y, sigma, weights))
    total = 0.0
    for j in range(y.shape[1]):
        precision = full.T @ (full / sigma[:, j : j + 1] ** 2) + np.diag(taus)
        residual = (y[:, j] - full @ w[:, j]) / sigma[:, j]
        likelihood = -0.5 * residual @ residual - np.log(sigma[:, j]).sum()
        prior = 0.5 * np.log(taus).sum() - 0.5 * taus @ w[:, j] ** 2
        total += likelihood + prior - 0.5 * np.linalg.slogdet(precision)[1]
    return total


@pytest.mark.parametrize("double", [False, True])
def test_directions_share_out_what_is_explained(double):
    """Eigenvalues of T^-1/2 G T^-1/2, and y'y split along the singular vectors of Phi T^-1/2; rounding if singular."""
    phi, y = regression(seed=4)
    phi, root = (torch.cat([phi, phi], 1) if double else phi), torch.linspace(0.5, 2.0, 6 if double else 3)
    sums = laplace.statistics((phi, y), bias=False)
    eigenvalues, explained, lost = _evidence._directions(sums.gram, sums.cross, root)
    u, s, _ = np.linalg.svd(np.asarray(phi / root))
    wanted = {round(v**2, 6): (u[:, i] @ np.asarray(y)) ** 2 for i, v in enumerate(s) if v > 1e-6}
    assert eigenvalues.shape[-1] == len(root)
    for value, shares in zip(eigenvalues[0].tolist(), explained.T.tolist(), strict=True):
        if value == 0:
            assert shares == [0.0, 0.0]
        else:
            assert shares == pytest.approx(wanted.pop(round(value, 6)), abs=1e-8)
    assert wanted == {}
    if double:
        largest = float(np.max(s)) ** 2
        bound = sum(6 * EPS * largest / v**2 * (u[:, i] @ np.asarray(y)) ** 2 for i, v in enumerate(s) if v > 1e-6)
        assert (lost / torch.tensor(bound)).tolist() == pytest.approx([1, 1], rel=1e-6)
        assert (eigenvalues[0] == 0).sum() == 3
    else:
        assert lost.tolist() == [0.0, 0.0]


def hill(a, b):
    """A maximum at (1, -2), with a slope and a curvature that are known."""
    return -((a - 1) ** 2) - 3 * (b + 2) ** 2 - (a - 1) * (b + 2)


@pytest.mark.parametrize("of_phi, of_y", [(1e-9, 1e-9), (1e-9, 1.0), (1.0, 1e-10), (1e8, 1e9)])
def test_the_maximum_does_not_depend_on_units(of_phi, of_y):
    """In other units sigma is the number in those of y, and tau that of 1 / weight^2; neither is lost to rounding."""
    phi, y = regression(n=30, seed=6)
    plain = laplace.maximise_evidence(laplace.fit((phi, y), noise_std=0.4, bias=False))
    other = laplace.fit(
        (phi * of_phi, y * of_y), noise_std=0.4 * of_y, prior_precision=(of_phi / of_y) ** 2, bias=False
    )
    sums = other.statistics
    *_, lost = _evidence._directions(sums.gram, sums.cross, other.prior_precision.sqrt())
    assert lost.tolist() == [0.0, 0.0]  # no direction is taken for a copy of another
    found = laplace.maximise_evidence(other)
    assert found.noise_std[0, 0].item() / of_y == pytest.approx(plain.noise_std[0, 0].item(), rel=1e-9)
    wanted = plain.prior_precision[0].item() * (of_phi / of_y) ** 2
    assert found.prior_precision[0].item() == pytest.approx(wanted, rel=1e-9)


def test_slope_curvature_and_newton_on_a_hill():
    at = torch.tensor([0.5, 0.25])
    slope, curvature = _evidence._slope_and_curvature(hill, at)
    assert slope.tolist() == pytest.approx([1.0 - 2.25, -13.5 + 0.5])
    assert curvature.tolist() == [[2.0, 1.0], [1.0, 6.0]] and not slope.requires_grad
    assert _evidence._newton(hill, [True, True], at).tolist() == pytest.approx([1.0, -2.0], abs=1e-9)
    assert _evidence._newton(hill, [True, False], at).tolist() == pytest.approx([1 - 2.25 / 2, 0.25], abs=1e-9)
    assert _evidence._newton(hill, [False, True], at).tolist() == pytest.approx([0.5, -2 + 0.5 / 6], abs=1e-9)
    assert at.tolist() == [0.5, 0.25]
    assert _evidence._newton(lambda a, b: 0 * a * b, [True, True], at) is None
    assert _evidence._newton(lambda a, b: -(a**2) + 1e-9 * b, [True, True], at) is None
    # a saddle between two hills: downhill is never taken, from either side
    two = lambda a, b: -((a**2 - 1) ** 2) - b**2  # noqa: E731
    for start in (0.1, -0.1):
        assert _evidence._newton(two, [True, True], torch.tensor([start, 0.3])).tolist() == pytest.approx(
            [math.copysign(1, start), 0.0], abs=1e-6
        )
    for start in ([1.0, 5.0], [5.0, -2.0], [-4.0, 1.0], [-2.0, -6.0]):
        assert _evidence._newton(hill, [True, True], torch.tensor(start)).tolist() == pytest.approx(
            [1.0, -2.0], abs=1e-9
        )
    # a full step overshoots here: it is halved until the value does not fall
    narrow = lambda a, b: -torch.log(torch.cosh(5 * a)) - b**2  # noqa: E731
    assert _evidence._newton(narrow, [True, True], torch.tensor([0.4, 0.0])).tolist() == pytest.approx([0, 0], abs=1e-6)
    for wide in (lambda a: -torch.sqrt(1 + (a - 30) ** 2), lambda a: -((a - 1.5) ** 2)):
        seen = []
        _evidence._newton(
            lambda a, b, wide=wide, seen=seen: seen.append(a.item()) or wide(a) - b**2, [True, True], torch.zeros(2)
        )
        assert next(place for place in seen if place != 0) == pytest.approx(1.0)  # no step is longer, and none shorter
        highest = 0.0
        for place in seen:
            assert place <= highest + 1 + 1e-9
            highest = max(highest, place)
    far = _evidence._newton(lambda a, b: -torch.log(torch.cosh(a - 9)) - b**2, [True, True], torch.zeros(2))
    assert far.tolist() == pytest.approx([9.0, 0.0], abs=1e-6)


@pytest.mark.parametrize("free", [[True, True], [True, False], [False, True]])
def test_the_grid_finds_every_peak_that_may_be_the_highest(free):
    posterior, *_ = built("plain")
    value, rms, largest = _evidence._along_eigenvectors(posterior)
    peaks = _evidence._peaks_of_grid(value, free, rms, largest)
    heights = [value(*peak).item() for peak in peaks]
    assert len({tuple(peak.tolist()) for peak in peaks}) == len(peaks)
    assert heights == sorted(heights, reverse=True) and 1 <= len(peaks) <= 4
    best = max(
        value(torch.tensor(t if free[0] else 0.0), torch.tensor(s if free[1] else 0.0)).item()
        for t in np.arange(-20, 20, 0.25) for s in np.arange(-4, 4, 0.25)
    )  # fmt: skip
    assert heights[0] == pytest.approx(best, abs=0.5)
    for peak in peaks:
        assert (free[0] or peak[0] == 0) and (free[1] or peak[1] == 0)


def test_the_peak_of_the_grid_is_within_its_spacing_of_a_hill():
    """A hill in the coordinates of the grid, at places that it holds: four of six peaks, the highest first."""
    rms, largest = 0.5, 2.0
    places = [(largest - 2 * s + r, s) for s, r in ((-1.5, -3.0), (0.0, 4.0), (1.25, 10.0), (2.25, -20.0), (-6.0, 0.5))]

    def hills(t, s):
        bumps = [(i + 1.0) * torch.exp(-((t - a) ** 2 + (s - b) ** 2) / 0.02) for i, (a, b) in enumerate(places)]
        return sum(bumps) - 1e-6 * (t**2 + s**2)

    found = _evidence._peaks_of_grid(hills, [True, True], rms, largest)
    assert [tuple(one.tolist()) for one in found] == [pytest.approx(place) for place in places[:0:-1]]
    for limit, words in (((largest - 2 * rms + 28.5, rms), "as prior_precision grows"),
                         ((largest - 2 * (rms - 14.5), rms - 14.5), "as noise_std falls to 0")):  # fmt: skip

        def one(t, s, limit=limit):
            return torch.exp(-((t - limit[0]) ** 2 + (s - limit[1]) ** 2) / 0.02)

        refused(lambda one=one: _evidence._peaks_of_grid(one, [True, True], rms, largest), words)
    refused(lambda: _evidence._peaks_of_grid(lambda t, s: t, [True, False], rms, largest), "as prior_precision grows")
    refused(lambda: _evidence._peaks_of_grid(lambda t, s: -s, [False, True], rms, largest), "as noise_std falls to 0")
    edge = _evidence._peaks_of_grid(lambda t, s: s - 1e-3 * (t + 2 * s) ** 2, [True, True], rms, largest)
    assert edge[0][1].item() == rms + 1.75  # sigma up to two above the RMS, that one excluded
    for limit in ((largest - 2 * rms + 28.0, rms), (largest - 2 * (rms - 14.25), rms - 14.25)):

        def one(t, s, limit=limit):
            return torch.exp(-((t - limit[0]) ** 2 + (s - limit[1]) ** 2) / 0.02)

        assert _evidence._peaks_of_grid(one, [True, True], rms, largest)[0].tolist() == pytest.approx(limit)


@pytest.mark.parametrize("scale", [1.0, 0.3, 0.1])
def test_polishing_keeps_the_digits_that_eigenvalues_lose(scale):
    """Features of very different sizes: MacKay's equations hold to nearly all digits, by the posterior covariance."""
    phi, y = regression(n=30, seed=6)
    phi = phi * torch.tensor([1.0, scale, scale**2]) + torch.tensor([0.0, 1.0, 1.0]) * phi[:, :1] * (scale < 1)
    for start in ((0.4, 1.0), (3.0, 1e-3)):
        posterior = laplace.fit((phi, y), noise_std=start[0], prior_precision=start[1], bias=False)
        tuned = laplace.maximise_evidence(posterior)
        tau, sigma, w = tuned.prior_precision[0], tuned.noise_std[0, 0], tuned.mean
        gamma = 2 * 3 - tau * 2 * tuned.cov[0].trace()
        assert (tau * w.square().sum() / gamma).item() == pytest.approx(1, abs=2e-10)
        assert ((y - phi @ w).square().sum() / sigma**2 / (60 - gamma)).item() == pytest.approx(1, abs=2e-10)


def test_polishing_takes_newtons_steps_and_no_long_ones():
    """A made-up curvature sets the first step, since the slope is known: by refits on either side."""
    posterior, *_ = built("plain")

    def evidence(t, s):
        return _evidence._moved(posterior, torch.tensor([t, s])).log_evidence

    h = 1e-4
    slope = (evidence(h, 0) - evidence(-h, 0)) / (2 * h), (evidence(0, h) - evidence(0, -h)) / (2 * h)
    start = torch.zeros(2)
    for step in ((1.5, 0.1), (0.1, 1.5), (-1.5, -0.1), (-0.1, -1.5), (1.5, -0.1), (-1.5, -1.5)):
        a, b = (g / s for g, s in zip(slope, step, strict=True))
        kept = _evidence._polished(posterior, lambda t, s, a=a, b=b: -0.5 * (a * t**2 + b * s**2), [True, True], start)
        assert torch.equal(kept.mean, posterior.mean) and start.tolist() == [0.0, 0.0]
    value = _evidence._along_eigenvectors(posterior)[0]
    best = laplace.maximise_evidence(posterior)
    top = [(best.prior_precision[0] / posterior.prior_precision[0]).log().item(),
           (best.noise_std[0, 0] / posterior.noise_std[0, 0]).log().item()]  # fmt: skip
    for off in ((0.1, 0.05), (-0.1, -0.05), (0.1, -0.05)):
        begin = torch.tensor([top[0] + off[0], top[1] + off[1]])
        kept, found = begin.clone(), _evidence._polished(posterior, value, [True, True], begin)
        assert torch.equal(begin, kept)
        assert found.noise_std[0, 0].item() == pytest.approx(best.noise_std[0, 0].item(), rel=1e-10)
        assert found.prior_precision[0].item() == pytest.approx(best.prior_precision[0].item(), rel=1e-10)
    only = laplace.maximise_evidence(posterior, prior_precision=False).noise_std[0, 0].item()
    stiff = lambda t, s: value(torch.zeros(()), s) - 0.5e16 * t**2  # noqa: E731
    begin = torch.tensor([0.0, math.log(only / posterior.noise_std[0, 0].item()) + 0.2])
    found = _evidence._polished(posterior, stiff, [True, True], begin).noise_std[0, 0].item()
    assert found == pytest.approx(only, rel=1e-9)


def test_of_two_maxima_the_higher_is_found():
    """Much signal and little noise, or the other way round: both explain these eight points, one of them better."""
    generator = torch.Generator().manual_seed(78)
    draw = functools.partial(torch.randn, generator=generator, dtype=torch.float64)
    phi = draw((8, 4)) * torch.logspace(0, -1, 4, dtype=torch.float64)
    y = 15 * phi[:, 3:] + 0.3 * draw((8, 1))

    def evidence(log_tau, log_sigma):
        signal, noise = (part.exp()[..., None, None] for part in (-log_tau, 2 * log_sigma))
        return torch.distributions.MultivariateNormal(
            torch.zeros(8, dtype=torch.float64), signal * phi @ phi.T + noise * torch.eye(8, dtype=torch.float64)
        ).log_prob(y[:, 0])

    best_tau = evidence(torch.linspace(-8, 8, 801)[:, None].double(), torch.linspace(-2, 2, 81).double()).amax(0)
    tops = (best_tau[1:-1] > best_tau[:-2]) & (best_tau[1:-1] > best_tau[2:])
    low, high = best_tau[1:-1][tops].sort().values.tolist()
    assert high > low + 1
    tuned = laplace.maximise_evidence(laplace.fit((phi, y), noise_std=0.3, bias=False))
    found = evidence(tuned.prior_precision[0].log(), tuned.noise_std[0, 0].log()).item()
    assert high <= found < high + 0.05 and tuned.log_evidence == pytest.approx(found, abs=1e-9)


@pytest.mark.bad_input
def test_a_maximum_lower_than_the_start_is_refused(monkeypatch):
    phi, y = regression()
    posterior = laplace.fit((phi, y), noise_std=0.4)
    monkeypatch.setattr(_evidence, "_polished", lambda *given: given[0])
    assert laplace.maximise_evidence(posterior) is posterior
    worse = laplace.fit((phi, y), noise_std=0.39)
    assert 0 < posterior.log_evidence - worse.log_evidence < 1
    monkeypatch.setattr(_evidence, "_polished", lambda *given: worse)
    refused(lambda: laplace.maximise_evidence(posterior), "the maximum was lost to rounding")


def test_zeros_in_one_output_or_in_all_features_leave_a_maximum():
    """With features of zero the noise std is the RMS of y, whatever the prior."""
    phi, y = regression()
    tuned = laplace.maximise_evidence(laplace.fit((0 * phi, y), noise_std=0.4, bias=False), prior_precision=False)
    assert tuned.noise_std[0, 0].item() == pytest.approx(y.square().mean().sqrt().item(), rel=1e-9)
    half = torch.cat([y[:, :1], torch.zeros(8, 1)], 1)
    tuned = laplace.maximise_evidence(laplace.fit((phi, half), noise_std=0.4, bias=False))
    gamma = tuned.effective_parameters
    assert (tuned.prior_precision[0] * tuned.mean.square().sum()).item() == pytest.approx(gamma, rel=1e-8)


def test_rounding_in_the_evidence_is_refused_where_its_size_says_so():
    """The size of what cancels, entry by entry; refused where its rounding passes 0.01 and a millionth of the value."""
    phi, y = regression(seed=7)
    refusals = []
    for exponent in np.arange(3.0, 6.0, 0.02):
        far = y + 10.0**exponent * torch.tensor([1.0, -0.3])
        posterior = laplace.fit((phi, far), noise_std=torch.tensor([[0.5, 2.0]]))
        full, w = np.abs(np.asarray(with_ones(phi))), np.abs(np.asarray(posterior.mean))
        gram = np.abs(np.asarray(with_ones(phi).T @ with_ones(phi)))
        cross = np.abs(np.asarray(with_ones(phi).T @ far))
        size = sum((float(far[:, j] @ far[:, j]) + 2 * w[:, j] @ cross[:, j] + w[:, j] @ gram @ w[:, j]) / s**2
                   for j, s in enumerate((0.5, 2.0)))  # fmt: skip
        assert full.shape == (8, 4) and posterior._cancelled() == pytest.approx(size, rel=1e-9)
        value = textbook_evidence(with_ones(phi), far, torch.tensor([[0.5, 2.0]]).expand(8, 2), np.ones(4))
        expected = EPS * size > max(0.01, 1e-6 * abs(value))
        try:
            assert math.isfinite(posterior.log_evidence)
        except ValueError as error:
            assert "rounding may cost" in str(error)
            refusals.append(True)
        else:
            refusals.append(False)
        assert refusals[-1] == expected
    assert set(refusals) == {True, False} or not any(refusals)


def test_rounding_is_refused_in_nats_where_the_evidence_is_small():
    """At given weights that fit a far y the evidence stays small: the bound is 0.01 nats, on either side."""
    phi, _ = regression(seed=8)
    found = []
    for exponent in np.arange(5.0, 8.5, 0.02):
        weights = torch.tensor([[0.0], [0.0], [0.0], [10.0**exponent]])
        far = with_ones(phi) @ weights
        posterior = laplace.fit((phi, far), noise_std=1.0, prior_precision=(1.0, 1e-14), weights=weights)
        size = 4 * 8 * 10.0 ** (2 * exponent)
        assert posterior._cancelled() == pytest.approx(size, rel=1e-9)
        try:
            value = posterior.log_evidence
        except ValueError:
            found.append(True)
            assert EPS * size > 0.01
        else:
            found.append(False)
            assert EPS * size <= max(0.01, 1e-6 * abs(value))
    assert set(found) == {True, False}


# Laplace: sums of several processes, in one


def test_all_reduce_adds_what_the_group_holds(monkeypatch):
    import torch.distributed as dist

    part = laplace.statistics(regression())
    refused(lambda: laplace.all_reduce(part), "no process group", RuntimeError)
    asked, kind = [], ["4 columns with bias, 2 outputs, one noise std for all points"]

    def gather(kinds, mine, group=None):
        asked.append(("gather", group))
        assert mine == "4 columns with bias, 2 outputs, one noise std for all points"
        kinds[:] = [mine, *kind]

    def reduce(vector, group=None):
        asked.append(("reduce", group))
        vector.mul_(2)

    monkeypatch.setattr(dist, "is_initialized", lambda: True)
    monkeypatch.setattr(dist, "get_world_size", lambda group=None: asked.append(("size", group)) or 2)
    monkeypatch.setattr(dist, "all_gather_object", gather)
    monkeypatch.setattr(dist, "all_reduce", reduce)
    whole, twice = laplace.all_reduce(part, group="ours"), part + part
    assert asked == [("size", "ours"), ("gather", "ours"), ("reduce", "ours")]
    for name in ("gram", "cross", "square", "log_std"):
        assert torch.equal(getattr(whole, name), getattr(twice, name))
    assert whole.points == 16 and whole.bias is part.bias and whole.per_point is part.per_point
    kind[:] = ["3 columns"]
    refused(lambda: laplace.all_reduce(part), "the processes hold different sums: 3 columns; 4 columns")


@pytest.mark.bad_input
def test_sums_of_different_kinds_are_named():
    phi, y = regression()
    some = laplace.statistics((phi, y))
    other = laplace.statistics((phi, y), bias=False)
    words = "4 columns with bias, 2 outputs, one noise std for all points, on cpu and over 3 columns without bias"
    refused(lambda: some + other, words)
    entries = laplace.statistics((phi, y), noise_std=torch.ones(8, 2))
    points = laplace.statistics((phi, y[:, :1]), noise_std=torch.ones(8, 1))
    refused(lambda: entries + points, "each entry, on cpu and over .* each point, on cpu")
    refused(lambda: laplace.all_reduce(3), "part: expected laplace.Statistics, got int", TypeError)
    refused(lambda: sum([some], start=1), "expected Statistics to add", TypeError)
    refused(lambda: sum([some], start=0.0), "expected Statistics to add", TypeError)
    refused(lambda: 1 + some, "expected Statistics to add", TypeError)
    assert (0 + some) is some


def test_sums_share_no_memory_and_are_float64_from_float32():
    phi, y = regression()
    sums = laplace.statistics((phi.float(), y.float()), noise_std=torch.full((8, 2), 0.7, dtype=torch.float32))
    assert {part.dtype for part in (sums.gram, sums.cross, sums.square, sums.log_std)} == {torch.float64}
    exact = math.log(float(torch.tensor(0.7, dtype=torch.float32)))
    assert sums.log_std.tolist() == pytest.approx([8 * exact] * 2, rel=1e-14)
    one = laplace.statistics((phi, y), noise_std=torch.full((8, 1), 0.7))
    one.log_std[0] = 5.0
    assert one.log_std[1] != 5.0
    assert all(part.is_contiguous() and part.untyped_storage().nbytes() == 8 * part.numel()
               for part in (sums.gram, sums.cross, sums.square, one.log_std))  # fmt: skip
