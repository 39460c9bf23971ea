"""`fit` and `fit_ensemble` against torch's own Adam, loop by loop, and what they refuse."""

import math

import pytest
import torch

from uqlib import _optimise, datasets, losses, models, runtime, training

STEPS = 60


@pytest.fixture
def data():
    return datasets.toy("heteroskedastic").training(n=30, generator=runtime.seed(0))


def build(seed=0):
    return models.LearntNoise(models.MLP(1, (6, 5), 1, generator=runtime.seed(seed)))


def nll(net, x, y):
    mean, log_std = net(x)
    return losses.gaussian_nll(mean, y, log_std=log_std)


def reference(net, data, steps=STEPS, schedule="cosine", **options):
    """The loop that everybody writes, with torch's Adam and scheduler."""
    optimiser = torch.optim.Adam(net.parameters(), lr=1e-2, **options)
    decay = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, T_max=steps)
    history = []
    for _ in range(steps):
        optimiser.zero_grad()
        loss = nll(net, *data)
        history.append(loss.item())
        loss.backward()
        optimiser.step()
        if schedule == "cosine":
            decay.step()
    return torch.tensor(history)


def assert_same_weights(ours, theirs, tolerance=1e-10):
    for p, q in zip(ours.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(p, q, rtol=0, atol=tolerance)


@pytest.mark.parametrize("schedule", ["cosine", "constant"])
@pytest.mark.parametrize("weight_decay", [0.0, 0.3])
def test_fit_is_adam(data, schedule, weight_decay):
    ours, theirs = build(), build()
    history = training.fit(
        lambda x, y: nll(ours, x, y), ours.parameters(), data,
        steps=STEPS, lr=1e-2, schedule=schedule, weight_decay=weight_decay,
    )  # fmt: skip
    expected = reference(theirs, data, schedule=schedule, weight_decay=weight_decay)
    torch.testing.assert_close(history.train, expected, rtol=0, atol=1e-10)
    assert_same_weights(ours, theirs)
    assert history.held_out is None


def test_weight_decay_is_the_gradient_of_the_summed_penalty(data):
    """Adam's weight_decay tau / n on the mean loss, beside tau / 2 |w|^2 added to the summed loss, over n."""
    ours, theirs, tau, n = build(), build(), 2.0, 30
    training.fit(lambda x, y: nll(ours, x, y), ours.parameters(), data, steps=1, lr=1e-2, weight_decay=tau / n)

    def penalised(x, y):
        return nll(theirs, x, y) + tau / (2 * n) * sum(p.square().sum() for p in theirs.parameters())

    training.fit(penalised, theirs.parameters(), data, steps=1, lr=1e-2)
    assert_same_weights(ours, theirs, 1e-12)


def test_memory_layout_does_not_matter(data):
    """A transposed parameter, and gradients that come transposed, take the same steps."""
    start = torch.randn(5, 2, generator=runtime.seed(5))
    target = torch.randn(5, 2, generator=runtime.seed(6))
    straight, transposed = torch.nn.Parameter(start.clone()), torch.nn.Parameter(start.T.contiguous().T)
    assert straight.stride() != transposed.stride()
    for w in (straight, transposed):
        training.fit(lambda x, y, w=w: ((w - target) ** 2 * w.T.exp().T).mean(), [w], data, steps=20, lr=1e-1)
    torch.testing.assert_close(straight, transposed, rtol=0, atol=1e-12)


def test_fit_decays_to_zero(data):
    """The last step of T moves no weight by more than the last rate: lr (1 + cos(pi (T - 1) / T)) / 2."""
    net, seen = build(), []

    def loss(x, y):
        seen.append([p.detach().clone() for p in net.parameters()])
        return nll(net, x, y)

    training.fit(loss, net.parameters(), data, steps=STEPS, lr=1e-2)
    last_rate = 0.5e-2 * (1 + math.cos(math.pi * (STEPS - 1) / STEPS))
    moved = max((p - q).abs().max().item() for p, q in zip(net.parameters(), seen[-1], strict=True))
    assert moved < 10 * last_rate < 1e-4


def test_held_out_is_recorded_and_not_trained_on(data):
    fresh = datasets.toy("heteroskedastic").fresh(n=50, generator=runtime.seed(1))
    ours, alone = build(), build()
    history = training.fit(lambda x, y: nll(ours, x, y), ours.parameters(), data, steps=STEPS, lr=1e-2, held_out=fresh)
    training.fit(lambda x, y: nll(alone, x, y), alone.parameters(), data, steps=STEPS, lr=1e-2)
    assert_same_weights(ours, alone, 0.0)
    assert history.held_out[0] == pytest.approx(nll(build(), *fresh).item(), abs=1e-14)
    assert history.train[0] == pytest.approx(nll(build(), *data).item(), abs=1e-14)
    assert len(history.held_out) == len(history.train) == STEPS


def test_batches_visit_each_point_once_an_epoch(data):
    seen, net = [], build()

    def loss(x, y):
        seen.append(x.clone())
        return nll(net, x, y)

    training.fit(loss, net.parameters(), data, steps=8, lr=1e-3, batch_size=8, generator=runtime.seed(0))
    assert [len(part) for part in seen] == [8, 8, 8, 6] * 2
    for epoch in (seen[:4], seen[4:]):
        assert torch.equal(torch.cat(epoch).sort(0).values, data[0])
    assert not torch.equal(torch.cat(seen[:4]), torch.cat(seen[4:]))


def test_fit_touches_no_gradient(data):
    net = build()
    training.fit(lambda x, y: nll(net, x, y), net.parameters(), data, steps=2, lr=1e-2)
    assert all(p.grad is None for p in net.parameters())


def test_ensemble_first_gradients_equal_separate_ones(data, monkeypatch):
    """Read off where they enter Adam, whose first step keeps little but their signs."""
    nets = [build(seed) for seed in range(4)]
    apart = [torch.autograd.grad(nll(net, *data), list(net.parameters())) for net in nets]
    seen = []
    plain = _optimise.fused_adam
    monkeypatch.setattr(_optimise, "fused_adam", lambda t, g, *rest, **k: (seen.append(g), plain(t, g, *rest, **k)))
    training.fit_ensemble(nll, nets, data, steps=1, lr=1e-2)
    (together,) = seen
    for m, gradients in enumerate(apart):
        for stacked, gradient in zip(together, gradients, strict=True):
            torch.testing.assert_close(stacked[m], gradient, rtol=0, atol=1e-12)


def test_ensemble_of_one_is_a_fit(data):
    together, alone = build(), build()
    together.register_buffer("unused", torch.zeros(2))
    history = training.fit_ensemble(nll, [together], data, steps=STEPS, lr=1e-2, held_out=data)
    expected = training.fit(lambda x, y: nll(alone, x, y), alone.parameters(), data, steps=STEPS, lr=1e-2)
    assert_same_weights(together, alone, 1e-6)
    torch.testing.assert_close(history.train, expected.train[:, None], rtol=0, atol=1e-6)


@pytest.mark.parametrize("shared", [True, False])
def test_ensemble_equals_separate_fits(data, shared):
    sets = [datasets.toy("homoskedastic").training(n=30, generator=runtime.seed(s)) for s in range(3)]
    together, apart = [build(s) for s in range(3)], [build(s) for s in range(3)]
    given = data if shared else tuple(torch.stack(part) for part in zip(*sets, strict=True))
    fresh = datasets.toy("homoskedastic").fresh(n=20, generator=runtime.seed(9))
    history = training.fit_ensemble(nll, together, given, steps=STEPS, lr=1e-2, weight_decay=0.01, held_out=fresh)
    assert history.train.shape == history.held_out.shape == (STEPS, 3)
    for m, net in enumerate(apart):
        alone = training.fit(
            lambda x, y, net=net: nll(net, x, y), net.parameters(), data if shared else sets[m],
            steps=STEPS, lr=1e-2, weight_decay=0.01, held_out=fresh,
        )  # fmt: skip
        assert_same_weights(together[m], net, 1e-6)
        torch.testing.assert_close(history.train[:, m], alone.train, rtol=0, atol=1e-6)
        torch.testing.assert_close(history.held_out[:, m], alone.held_out, rtol=0, atol=1e-6)


def test_each_member_keeps_its_own_standardising_layer(data):
    x = data[0]

    def standardised(m):
        return torch.nn.Sequential(models.Standardise(x * (m + 1) + m), build(m))

    together = [standardised(m) for m in range(3)]
    history = training.fit_ensemble(nll, together, data, steps=STEPS, lr=1e-2, held_out=data)
    for m in range(3):
        alone = standardised(m)
        own = training.fit(lambda a, b, n=alone: nll(n, a, b), alone.parameters(), data, steps=STEPS, lr=1e-2)
        assert_same_weights(together[m], alone, 1e-6)
        torch.testing.assert_close(history.train[:, m], own.train, rtol=0, atol=1e-6)
        assert torch.equal(together[m][0].mean, alone[0].mean)


def test_each_member_has_its_own_order_and_sees_every_point_once_an_epoch():
    x = torch.arange(10.0)[:, None]
    nets = [build(seed) for seed in range(3)]
    orders = _optimise.batches(10, 4, runtime.seed(5), members=3)
    epochs = [torch.cat([next(orders) for _ in range(3)], 1) for _ in range(2)]
    for epoch in epochs:
        assert epoch.sort(1).values.tolist() == [list(range(10))] * 3
        assert len({tuple(order) for order in epoch.tolist()}) == 3
    assert not torch.equal(epochs[0], epochs[1])

    history = training.fit_ensemble(nll, nets, (x, x), steps=6, lr=1e-2, batch_size=4, generator=runtime.seed(5))
    for m in range(3):
        alone, losses_alone = build(m), []
        rows = iter([part[m] for epoch in epochs for part in epoch.split(4, 1)])

        def loss(x, y, alone=alone, rows=rows, losses_alone=losses_alone):
            row = next(rows)
            value = nll(alone, x[row], y[row])
            losses_alone.append(value.item())
            return value

        training.fit(loss, alone.parameters(), (x, x), steps=6, lr=1e-2)
        assert_same_weights(nets[m], alone, 1e-10)
        assert history.train[:, m].tolist() == pytest.approx(losses_alone, rel=1e-10)


def test_anchored_decay_is_a_penalty_on_the_distance_from_the_start(data):
    nets, starts = [build(seed) for seed in range(3)], [build(seed) for seed in range(3)]
    training.fit_ensemble(nll, nets, data, steps=STEPS, lr=1e-2, weight_decay=0.3, anchored=True)
    for m, start in enumerate(starts):
        alone = build(m)

        def loss(x, y, alone=alone, start=start):
            pairs = zip(alone.parameters(), start.parameters(), strict=True)
            return nll(alone, x, y) + 0.15 * sum(((w - a.detach()) ** 2).sum() for w, a in pairs)

        training.fit(loss, alone.parameters(), data, steps=STEPS, lr=1e-2)
        assert_same_weights(nets[m], alone, 1e-6)
    with pytest.raises(ValueError, match="weight_decay"):
        training.fit_ensemble(nll, nets, data, steps=5, lr=1e-2, anchored=True)


def test_bootstrap_draws_whole_rows_with_replacement(data):
    x, y = data
    xs, ys = training.bootstrap(data, 200, runtime.seed(0))
    assert xs.shape == (200, *x.shape) and ys.shape == (200, *y.shape)
    place = {value.item(): i for i, value in enumerate(x[:, 0])}
    rows = torch.tensor([[place[v.item()] for v in one[:, 0]] for one in xs])
    assert torch.equal(ys, y[rows])
    distinct = sum(len(set(one.tolist())) for one in rows) / (200 * len(x))
    expected = 1 - (1 - 1 / len(x)) ** len(x)
    assert distinct == pytest.approx(expected, abs=0.01)
    counts = torch.bincount(rows.flatten(), minlength=len(x)).double()
    assert (counts / 200 - 1).abs().max() < 5 / 200**0.5
    with pytest.raises(ValueError, match="rows must pair up"):
        training.bootstrap((x, y[:-1]), 3, runtime.seed(0))


def test_progress_is_silent_here_and_in_pipes(data, capsys, monkeypatch):
    net = build()
    monkeypatch.delenv("PYTEST_CURRENT_TEST", raising=False)
    training.fit(lambda x, y: nll(net, x, y), net.parameters(), data, steps=2, lr=1e-2)
    assert capsys.readouterr() == ("", "")


def snapshot(net):
    return [p.detach().clone() for p in net.parameters()]


@pytest.mark.bad_input
@pytest.mark.parametrize("bad", [math.nan, math.inf])
@pytest.mark.parametrize("which", [0, 1])
def test_refuses_bad_data_before_the_first_step(data, bad, which):
    net, data = build(), [part.clone() for part in data]
    before = snapshot(net)
    data[which][7, 0] = bad
    with pytest.raises(ValueError, match=r"data: [xy]: expected finite values, got (nan|inf) at index \(7, 0\)"):
        training.fit(lambda x, y: nll(net, x, y), net.parameters(), tuple(data), steps=5, lr=1e-2)
    with pytest.raises(ValueError, match="expected finite values"):
        training.fit_ensemble(nll, [net, build(1)], tuple(data), steps=5, lr=1e-2)
    assert all(torch.equal(p, q) for p, q in zip(before, net.parameters(), strict=True))


@pytest.mark.bad_input
def test_refuses_shapes_that_would_broadcast(data):
    net, (x, y) = build(), data
    with pytest.raises(ValueError, match=r"data: y: expected shape \(n, k\), got \(30,\); use"):
        training.fit(lambda x, y: nll(net, x, y), net.parameters(), (x, y[:, 0]), steps=5, lr=1e-2)
    with pytest.raises(ValueError, match=r"x has shape \(30, 1\) but y has shape \(29, 1\)"):
        training.fit(lambda x, y: nll(net, x, y), net.parameters(), (x, y[:29]), steps=5, lr=1e-2)
    with pytest.raises(ValueError, match=r"mean has shape \(30, 1\) but y has shape \(30, 2\)"):
        training.fit(lambda x, y: nll(net, x, y), net.parameters(), (x, y.expand(30, 2)), steps=5, lr=1e-2)


@pytest.mark.bad_input
def test_refuses_a_parameter_that_is_no_leaf(data):
    net = models.MLP(1, (4,), 1, generator=runtime.seed(0))
    log_std = torch.nn.Parameter(torch.zeros(())).to(torch.float32).to(torch.float64)
    with pytest.raises(ValueError, match=r"not a leaf.*write nn\.Parameter\(t\.to\(device\)\)"):
        training.fit(
            lambda x, y: losses.gaussian_nll(net(x), y, log_std=log_std),
            [*net.parameters(), log_std], data, steps=5, lr=1e-2,
        )  # fmt: skip


@pytest.mark.bad_input
def test_stops_at_the_step_where_the_loss_turns_non_finite(data):
    net, calls = build(), []

    def loss(x, y):
        calls.append(1)
        return nll(net, x, y) * (math.nan if len(calls) == 4 else 1)

    with pytest.raises(FloatingPointError, match="the loss is nan at step 3 of 10: lower lr"):
        training.fit(loss, net.parameters(), data, steps=10, lr=1e-2)
    assert all(torch.isfinite(p).all() for p in net.parameters())

    broken = build(1)
    with torch.no_grad():
        broken.log_std.fill_(-400.0)  # exp(800) overflows in float64
    nets = [build(), broken]
    before = [snapshot(net) for net in nets]
    with pytest.raises(
        FloatingPointError, match="the loss of net 1 is not finite at step 0 of 10: look at the initial"
    ):
        training.fit_ensemble(nll, nets, data, steps=10, lr=1e-2)
    for net, old in zip(nets, before, strict=True):
        assert all(torch.equal(p, q) for p, q in zip(net.parameters(), old, strict=True))


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"steps": 0}, ValueError, "steps: expected a whole number of at least 1, got 0"),
        ({"steps": 1.5}, TypeError, "steps: expected a whole number"),
        ({"lr": 0.0}, ValueError, "lr: expected a finite number above 0"),
        ({"lr": math.nan}, ValueError, "lr: expected a finite number above 0"),
        ({"schedule": "cos"}, ValueError, "schedule: expected 'cosine' or 'constant', got 'cos'"),
        ({"weight_decay": -1.0}, ValueError, "weight_decay: expected a finite number of at least 0"),
        ({"batch_size": 8}, ValueError, "generator: batch_size needs one to shuffle by"),
        ({"batch_size": 0, "generator": torch.Generator()}, ValueError, "batch_size: expected a whole number"),
        ({"held_out": torch.zeros(3, 1)}, TypeError, "held_out: expected a pair"),
    ],
)
def test_refuses_options(data, options, error, words):
    net = build()
    before = snapshot(net)
    with pytest.raises(error, match=words):
        training.fit(lambda x, y: nll(net, x, y), net.parameters(), data, **{"steps": 5, "lr": 1e-2} | options)
    assert all(torch.equal(p, q) for p, q in zip(before, net.parameters(), strict=True))


@pytest.mark.bad_input
def test_refuses_losses_and_parameters(data):
    net = build()
    used = net.parameters()
    list(used)
    cases = [
        (lambda x, y: nll(net, x, y), used, ValueError, "a generator is empty when used twice"),
        (
            lambda x, y: (net(x)[0] - y) ** 2,
            net.parameters(),
            ValueError,
            "loss: expected a scalar tensor, got torch.float64 of shape",
        ),
        (lambda x, y: 1.0, net.parameters(), ValueError, "loss: expected a scalar tensor, got float"),
        (lambda x, y: (x - y).mean(), net.parameters(), ValueError, "depends on none of the parameters"),
        (lambda x, y: nll(net, x, y), [torch.zeros(2)], ValueError, "needs no gradient"),
    ]
    for loss, parameters, error, words in cases:
        with pytest.raises(error, match=words):
            training.fit(loss, parameters, data, steps=5, lr=1e-2)


@pytest.mark.bad_input
def test_refuses_what_would_train_wrongly_in_silence(data):
    """Another net in the loss, a parameter twice or with gaps in memory, a held-out loss that is no number."""
    a, b = build(0), build(1)
    gaps = torch.randn(3, 4, generator=runtime.seed(0))[:, :2].requires_grad_()
    cases = [
        (lambda x, y: nll(b, x, y), a.parameters(), {}, ValueError, "depends on none of the parameters"),
        (lambda x, y: nll(a, x, y), [*a.parameters()] * 2, {}, ValueError, "a tensor is listed twice"),
        (lambda x, y: (gaps - 1).square().mean(), [gaps], {}, ValueError, "gaps or repeats in memory"),
        (lambda x, y: nll(a, x, y), a, {}, TypeError, "use net.parameters"),
        (lambda x, y: nll(a, x, y) * (math.nan if len(x) == 3 else 1), a.parameters(),
         {"held_out": tuple(part[:3] for part in data)}, FloatingPointError, "the held-out loss is nan at step 0"),
    ]  # fmt: skip
    for loss, parameters, options, error, words in cases:
        with pytest.raises(error, match=words):
            training.fit(loss, parameters, data, **{"steps": 5, "lr": 1e-2} | options)


def test_a_loss_that_works_in_place_does_not_reach_the_callers_data(data):
    net, kept = build(), data[0].clone()

    def loss(x, y):
        x.mul_(1.0).add_(0.5)
        return nll(net, x, y)

    training.fit(loss, net.parameters(), data, steps=2, lr=1e-2)
    assert torch.equal(data[0], kept)


@pytest.mark.bad_input
def test_ensemble_refuses_members_that_are_not_alike(data):
    class Scaled(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = build()
            self.norm = torch.nn.BatchNorm1d(1)

    relu = models.LearntNoise(models.MLP(1, (6, 5), 1, generator=runtime.seed(1), activation=torch.relu))
    for nets, words in (
        ([build(), relu], "net 1 is built otherwise"),
        ([build(), build(1).eval()], "net 1 is built otherwise"),
        ([build(), build(1).float()], "net 1 is built otherwise"),
        ([Scaled(), Scaled()], "net 0 has buffers that steer it"),
    ):
        with pytest.raises(ValueError, match=words):
            training.fit_ensemble(nll, nets, data, steps=2, lr=1e-2)


@pytest.mark.bad_input
def test_ensemble_refuses(data):
    one, x, y = build(), *data
    cases = [
        ([], data, "models: expected at least one net"),
        ([one, one], data, "two members share a parameter"),
        (
            [one, models.LearntNoise(models.MLP(1, (5,), 1, generator=runtime.seed(0)))],
            data,
            "net 1 is built otherwise",
        ),
        ([one, build(1)], (x.expand(3, 30, 1), y), "data: x has 3 data sets for 2 nets"),
    ]
    for nets, given, words in cases:
        with pytest.raises(ValueError, match=words):
            training.fit_ensemble(nll, nets, given, steps=2, lr=1e-2)
