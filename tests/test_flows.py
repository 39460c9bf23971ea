"""Flows against autograd's Jacobians, closed forms, and normflows on copied weights."""

import math

import normflows
import pytest
import torch

from uqlib import flows, models, runtime, training

POINTS = torch.randn(50, 3, generator=runtime.seed(1), dtype=torch.float64) @ torch.tensor(
    [[1.0, 0.5, 0.0], [0.0, 0.7, -0.4], [0.3, 0.0, 2.0]], dtype=torch.float64
) + torch.tensor([[3.0, -1.0, 0.2]], dtype=torch.float64)


def moved(module, size=0.3, seed=7):
    """The module with every weight moved at random, so that no layer is the identity."""
    generator = runtime.seed(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter += size * torch.randn(parameter.shape, generator=generator)
    return module


def some_flow(blocks=4, seed=0, activation=torch.tanh):
    generator = runtime.seed(seed)
    layers = []
    for i in range(blocks):
        mask = [(i + j) % 2 == 0 for j in range(3)]
        layers += [flows.AffineCoupling(mask, (16,), generator=generator, activation=activation), flows.ActNorm(3)]
    return flows.NormalizingFlow(flows.DiagonalGaussian(3), layers)


@pytest.fixture
def flow():
    flow = some_flow()
    flow.initialise(POINTS)
    return moved(flow)


def log_volume(function, points):
    """log |det J| at each point, by autograd."""
    jacobians = torch.func.vmap(torch.func.jacrev(lambda one: function(one[None])[0][0]))(points)
    return torch.linalg.slogdet(jacobians)[1]


@pytest.mark.parametrize("kind", ["coupling", "actnorm"])
@pytest.mark.parametrize("way", ["forward", "inverse"])
def test_log_determinants_of_layers_are_those_of_the_jacobian(kind, way):
    if kind == "coupling":
        layer = moved(flows.AffineCoupling((True, False, True), (16, 8), generator=runtime.seed(0)))
    else:
        layer = flows.ActNorm(3)
        layer.initialise(POINTS)
    function = getattr(layer, way)
    torch.testing.assert_close(function(POINTS)[1], log_volume(function, POINTS), rtol=1e-12, atol=1e-12)


def test_log_determinant_of_the_whole_flow(flow):
    for function in (flow.forward, flow.inverse):
        torch.testing.assert_close(function(POINTS)[1], log_volume(function, POINTS), rtol=1e-11, atol=1e-11)


def test_inverse_inverts(flow):
    z, there = flow.inverse(POINTS)
    back, home = flow(z)
    assert (z - POINTS).abs().max() > 0.1
    torch.testing.assert_close(back, POINTS, rtol=0, atol=1e-10)
    torch.testing.assert_close(there, -home, rtol=0, atol=1e-10)


def test_coupling_keeps_the_masked_coordinates_and_starts_as_the_identity():
    layer = flows.AffineCoupling((True, False, True), (16,), generator=runtime.seed(0))
    x, log_det = layer(POINTS)
    assert torch.equal(x, POINTS)
    assert torch.equal(log_det, torch.zeros(50))
    x, _ = moved(layer)(POINTS)
    assert torch.equal(x[:, [0, 2]], POINTS[:, [0, 2]])
    assert (x[:, 1] != POINTS[:, 1]).all()


def theirs(flow):
    """normflows' flow with the weights of ours, whose nets must use relu: theirs have it built in."""
    layers = []
    for ours in flow.layers:
        if isinstance(ours, flows.ActNorm):
            other = normflows.flows.ActNorm(3)
            other.s.data, other.t.data = ours.log_scale.detach(), ours.shift.detach()
            other.data_dep_init_done.fill_(1.0)
        else:
            hidden, head = ours.net.hidden[0], ours.net.head
            scale, shift = (normflows.nets.MLP([3, 16, 3]) for _ in range(2))
            for net, rows in ((scale, slice(0, 3)), (shift, slice(3, 6))):
                net.net[0].weight.data, net.net[0].bias.data = hidden.weight.detach(), hidden.bias.detach()
                net.net[2].weight.data, net.net[2].bias.data = head.weight.detach()[rows], head.bias.detach()[rows]
            other = normflows.flows.MaskedAffineFlow(ours.mask[0], shift, scale)
        layers.append(other)
    base = normflows.distributions.DiagGaussian(3)
    base.loc.data, base.log_scale.data = flow.base.mean.detach(), flow.base.log_std.detach()
    return normflows.NormalizingFlow(base, layers)


def test_agrees_with_normflows_on_copied_weights():
    flow = some_flow(activation=torch.relu)
    flow.initialise(POINTS)
    moved(flow)
    with torch.random.fork_rng(devices=[]):
        other = theirs(flow)
    torch.testing.assert_close(flow.log_prob(POINTS), other.log_prob(POINTS), rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(flow.forward_kld(POINTS), other.forward_kld(POINTS), rtol=1e-12, atol=1e-12)
    z, log_det = other.inverse_and_log_det(POINTS)
    torch.testing.assert_close(flow.inverse(POINTS), (z, log_det), rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(flow(z)[0], other.forward(z), rtol=1e-12, atol=1e-12)


def test_base_density_and_draws():
    base = moved(flows.DiagonalGaussian(3))
    mean, std = base.mean.detach(), base.log_std.detach().exp()
    reference = torch.distributions.Independent(torch.distributions.Normal(mean, std), 1)
    torch.testing.assert_close(base.log_prob(POINTS), reference.log_prob(POINTS))
    noise = torch.randn(9, 3, generator=runtime.seed(4))
    torch.testing.assert_close(base.sample(9, runtime.seed(4)), mean + std * noise)


def test_density_integrates_to_one():
    generator = runtime.seed(0)
    layers = []
    for i in range(4):
        layers += [flows.AffineCoupling((i % 2 == 0, i % 2 == 1), (8,), generator=generator), flows.ActNorm(2)]
    flow = flows.NormalizingFlow(flows.DiagonalGaussian(2), layers)
    flow.initialise(torch.randn(100, 2, generator=generator))
    moved(flow, 0.15)
    line = torch.linspace(-25, 25, 1001)
    grid = torch.cartesian_prod(line, line)
    assert abs((flow.log_prob(grid).exp().sum() * 0.05**2).item() - 1) < 1e-3


def test_draws_are_the_image_of_the_base_and_follow_the_density(flow):
    draws = flow.sample(20_000, runtime.seed(3))
    assert not draws.requires_grad
    torch.testing.assert_close(flow.inverse(draws)[0], flow.base.sample(20_000, runtime.seed(3)), rtol=0, atol=1e-9)
    # The mean of log q over the draws is minus the entropy, which the change of volume gives another way.
    z = flow.base.sample(20_000, runtime.seed(5))
    entropy = 1.5 * math.log(2 * math.pi * math.e) + flow.base.log_std.sum() + flow(z)[1].mean()
    spread = flow.log_prob(draws).std() / math.sqrt(20_000)
    assert abs(flow.forward_kld(draws) - entropy) < 5 * spread + 5 * flow(z)[1].std() / math.sqrt(20_000)


def test_actnorm_starts_at_the_diagonal_maximum_likelihood_gaussian():
    flow = flows.NormalizingFlow(flows.DiagonalGaussian(3), [flows.ActNorm(3)])
    flow.initialise(POINTS)
    std = POINTS.std(0, correction=0)
    assert abs(flow.forward_kld(POINTS) - 0.5 * (math.log(2 * math.pi * math.e) + 2 * std.log()).sum()) < 1e-12
    gradients = torch.autograd.grad(flow.forward_kld(POINTS), list(flow.parameters()))
    assert max(g.abs().max() for g in gradients) < 1e-12


def test_every_actnorm_starts_from_what_reaches_it():
    fresh = some_flow()
    for layer in fresh.layers:
        if isinstance(layer, flows.AffineCoupling):
            moved(layer)  # else it is the identity, and skipping it would not be seen
    kept = POINTS.clone()
    fresh.initialise(POINTS)
    assert torch.equal(POINTS, kept)
    x = POINTS
    for layer in reversed(fresh.layers):
        x = layer.inverse(x)[0]
        if isinstance(layer, flows.ActNorm):
            torch.testing.assert_close(x.mean(0), torch.zeros(3), rtol=0, atol=1e-12)
            torch.testing.assert_close(x.std(0, correction=0), torch.ones(3))


def test_the_start_is_kept_through_save_and_load(flow, tmp_path):
    torch.save(flow.state_dict(), tmp_path / "flow.pt")
    loaded = some_flow(seed=5)
    loaded.load_state_dict(torch.load(tmp_path / "flow.pt", weights_only=True))
    other = POINTS * 100 - 7
    torch.testing.assert_close(loaded.log_prob(other), flow.log_prob(other), rtol=0, atol=0)
    with pytest.raises(RuntimeError, match="initialised already"):
        loaded.initialise(other)


def test_nothing_but_initialise_starts_an_actnorm():
    flow = some_flow()
    for use in (flow.log_prob, flow.forward_kld, flow.inverse, flow):
        with pytest.raises(RuntimeError, match=r"call flow\.initialise"):
            use(POINTS)
    with pytest.raises(RuntimeError, match=r"call flow\.initialise"):
        flow.sample(5, runtime.seed(0))
    assert not any(layer.initialised for layer in flow.layers if isinstance(layer, flows.ActNorm))


@pytest.mark.parametrize(
    ("sample", "message"),
    [
        (POINTS * 1e-300, "column 0 is too large or too small"),
        (POINTS * 1e200, "column 0 is too large or too small"),
        (torch.cat([POINTS[:, :2], 0.1 + 3e-17 * POINTS[:, 2:]], 1), "column 2 is constant up to rounding"),
        (POINTS[:1], "at least 2 points"),
        (torch.cat([POINTS[:, :2], torch.full((50, 1), 0.1)], 1), "column 2 is constant"),
        (torch.where(POINTS[3, 1] == POINTS, math.nan, POINTS), "finite"),
        (POINTS[:, :2], r"shape \(n, 3\)"),
    ],
)
def test_a_sample_that_cannot_start_a_flow_is_refused_and_changes_nothing(sample, message):
    flow = some_flow()
    before = {name: value.clone() for name, value in flow.state_dict().items()}
    with pytest.raises(ValueError, match=message):
        flow.initialise(sample)
    assert all(torch.equal(value, before[name]) for name, value in flow.state_dict().items())


def test_a_failure_deep_inside_changes_nothing():
    """Only the inner ActNorm meets a constant column: the layer outside it maps one coordinate to a constant."""

    class Flatten(torch.nn.Module):
        def inverse(self, x):
            return torch.zeros_like(x), x.new_zeros(len(x))

    flow = flows.NormalizingFlow(flows.DiagonalGaussian(3), [flows.ActNorm(3), Flatten(), flows.ActNorm(3)])
    with pytest.raises(ValueError, match="column 0 is constant"):
        flow.initialise(POINTS)
    assert not flow.layers[2].initialised and not flow.layers[0].initialised
    assert (flow.layers[2].shift == 0).all()


def test_units_shift_the_loss_by_the_log_of_the_factor(flow):
    """A factor of 100 in each coordinate is one more layer: three times log 100 in the loss, nothing else."""
    hundred = flows.ActNorm(3)
    hundred.initialise(POINTS)
    with torch.no_grad():
        hundred.log_scale.fill_(math.log(100))
        hundred.shift.zero_()
    scaled = flows.NormalizingFlow(flow.base, [*flow.layers, hundred])
    shift = scaled.forward_kld(100 * POINTS) - flow.forward_kld(POINTS)
    assert abs(shift.item() - 3 * math.log(100)) < 1e-10


def test_training_brings_the_true_kl_near_zero():
    def banana(n, seed):
        z = torch.randn(n, 2, generator=runtime.seed(seed))
        return z, 0.2 * torch.stack([z[:, 0], z[:, 1] + z[:, 0] ** 2 - 1], 1)

    def kl():
        """Mean of log p - log q over fresh points, in pairs: luck cancels."""
        z, fresh = banana(20_000, 9)
        log_p = -0.5 * (z**2).sum(1) - math.log(2 * math.pi * 0.2**2)
        return (log_p - flow.log_prob(fresh)).mean().item()

    generator = runtime.seed(0)
    layers = []
    for i in range(4):
        layers += [flows.AffineCoupling((i % 2 == 0, i % 2 == 1), (32,), generator=generator), flows.ActNorm(2)]
    flow = flows.NormalizingFlow(flows.DiagonalGaussian(2), layers)
    _, x = banana(2000, 2)
    flow.initialise(x)
    assert abs(kl() - 0.5 * math.log(3)) < 0.05  # the best Gaussian is that far off
    training.fit(lambda x, _: flow.forward_kld(x), flow.parameters(), (x, x), steps=300, lr=1e-2)
    assert 0 < kl() < 0.03


def test_a_narrow_column_is_no_constant_one():
    narrow = torch.cat([1000 + 1e-6 * POINTS[:, :1], POINTS[:, 1:]], 1)
    flow = some_flow()
    flow.initialise(narrow)
    z, _ = flow.inverse(narrow)
    torch.testing.assert_close(z.std(0, correction=0), torch.ones(3), rtol=1e-5, atol=0)
    torch.testing.assert_close(
        models.Standardise(narrow)(narrow).std(0, correction=0), torch.ones(3), rtol=1e-5, atol=0
    )


def test_a_start_whose_image_is_not_finite_is_refused():
    class Overflow(torch.nn.Module):
        def inverse(self, x):
            return x / 0.0, x.new_zeros(len(x))

    flow = flows.NormalizingFlow(flows.DiagonalGaussian(3), [Overflow(), flows.ActNorm(3)])
    with pytest.raises(ValueError, match="the image of x: expected finite"):
        flow.initialise(POINTS)
    assert not flow.layers[1].initialised


@pytest.mark.parametrize("mask", [(True, True), (False, False), (1, 0), (), None, {True, False}, "10"])
@pytest.mark.bad_input
def test_a_mask_that_couples_nothing_is_refused(mask):
    with pytest.raises((TypeError, ValueError), match=r"mask: expected .* such as \(True, False\), got"):
        flows.AffineCoupling(mask, (8,), generator=runtime.seed(0))


def test_a_mask_may_be_a_tensor():
    layer = moved(flows.AffineCoupling(torch.tensor([True, False, True]), (8,), generator=runtime.seed(0)))
    assert torch.equal(layer(POINTS)[0][:, [0, 2]], POINTS[:, [0, 2]])


class Odd(torch.nn.Module):
    """A layer that returns what it is told to."""

    def __init__(self, pair):
        super().__init__()
        self.pair = pair

    def forward(self, z):
        return self.pair(z)

    def inverse(self, x):
        return self.pair(x)


@pytest.mark.parametrize(
    "pair",
    [
        lambda x: (x, torch.zeros(len(x), 1)),
        lambda x: (x, torch.zeros(1, len(x))),
        lambda x: (x, torch.zeros(())),
        lambda x: (x, 0.0),
        lambda x: (x[:1], torch.zeros(1)),
        lambda x: x[:2],
    ],
)
def test_a_layer_that_would_broadcast_is_refused(pair):
    flow = flows.NormalizingFlow(flows.DiagonalGaussian(3), [Odd(pair)])
    for use in (flow.log_prob, flow.forward):
        with pytest.raises(ValueError, match=r"Odd\.\w+: expected the image \(3, 3\) and log det \(3,\), got"):
            use(POINTS[:3])


def test_a_base_that_does_not_sum_is_refused():
    class Unsummed(flows.DiagonalGaussian):
        def log_prob(self, z):
            return -0.5 * z**2

    with pytest.raises(ValueError, match=r"base\.log_prob: expected shape \(3,\), got \(3, 3\)"):
        flows.NormalizingFlow(Unsummed(3), []).log_prob(POINTS[:3])


@pytest.mark.bad_input
def test_parts_that_make_no_flow_are_refused():
    base, norm = flows.DiagonalGaussian(3), flows.ActNorm(3)
    inner = flows.NormalizingFlow(base, [norm])
    for given, layers, error in (
        (None, [norm], TypeError), (torch.nn.Identity(), [norm], TypeError), (base, None, TypeError),
        (base, norm, TypeError), (base, [torch.nn.Identity()], TypeError), (base, [inner], TypeError),
        (base, [norm, norm], ValueError),
    ):  # fmt: skip
        with pytest.raises(error, match=r"base: expected|layers: "):
            flows.NormalizingFlow(given, layers)


def test_an_actnorm_inside_another_layer_is_named():
    class Block(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = flows.ActNorm(3)

        def inverse(self, x):
            return self.norm.inverse(x)

    with pytest.raises(ValueError, match="inside another layer"):
        flows.NormalizingFlow(flows.DiagonalGaussian(3), [Block()]).initialise(POINTS)


def test_an_actnorm_added_later_can_be_started(flow):
    longer = flows.NormalizingFlow(flow.base, [*flow.layers, flows.ActNorm(3)])
    before = {name: value.clone() for name, value in flow.state_dict().items()}
    longer.initialise(POINTS)
    assert all(torch.equal(value, before[name]) for name, value in flow.state_dict().items())
    torch.testing.assert_close(longer.layers[-1].inverse(POINTS)[0].mean(0), torch.zeros(3), rtol=0, atol=1e-12)


def test_an_error_does_not_use_up_the_generator():
    generator = runtime.seed(0)
    with pytest.raises(RuntimeError, match="seen no data"):
        some_flow().sample(5, generator)
    assert torch.equal(generator.get_state(), runtime.seed(0).get_state())


@pytest.mark.bad_input
def test_wrong_points_are_refused(flow):
    cases = [
        (POINTS[:, 0], ValueError, r"expected shape \(n, k\)"),
        (POINTS[:, :2], ValueError, r"expected shape \(n, 3\), got \(50, 2\)"),
        (POINTS.float(), TypeError, "float32"),
        (POINTS[:0], ValueError, "at least one"),
        ([[1.0, 2.0, 3.0]], TypeError, "torch.Tensor"),
    ]
    for x, error, message in cases:
        for use in (flow.log_prob, flow.forward_kld, flow.inverse, flow.forward, flow.base.log_prob):
            with pytest.raises(error, match=message):
                use(x)
    with pytest.raises(TypeError, match="generator"):
        flow.sample(5, 0)
    with pytest.raises(ValueError, match="at least 1"):
        flow.sample(0, runtime.seed(0))
    with pytest.raises(ValueError, match="no ActNorm"):
        flows.NormalizingFlow(flows.DiagonalGaussian(2), []).initialise(POINTS)


def test_standardise_is_a_layer_that_is_saved():
    net = torch.nn.Sequential(models.Standardise(POINTS), models.MLP(3, (5,), 1, generator=runtime.seed(0)))
    seen = net[0](POINTS)
    torch.testing.assert_close(seen.mean(0), torch.zeros(3), rtol=0, atol=1e-12)
    torch.testing.assert_close(seen.square().mean(0), torch.ones(3))
    other = torch.nn.Sequential(models.Standardise(POINTS * 3 + 1), models.MLP(3, (5,), 1, generator=runtime.seed(1)))
    other.load_state_dict(net.state_dict())
    assert torch.equal(other(POINTS), net(POINTS))
    assert {name for name, _ in net.named_parameters()} == {f"1.{name}" for name, _ in net[1].named_parameters()}
    for bad, message in ((POINTS[:1], "at least 2"), (torch.ones(4, 2) * 0.1, "column 0 is constant")):
        with pytest.raises(ValueError, match=message):
            models.Standardise(bad)
    with pytest.raises(ValueError, match=r"expected shape \(n, 3\)"):
        net(POINTS[:, :2])
