"""Nets against torch's own layers and initialisation."""

import pytest
import torch

from uqlib import models, runtime


def test_initial_weights_are_torch_defaults_from_the_given_generator():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(11)
        theirs = [torch.nn.Linear(2, 5), torch.nn.Linear(5, 4), torch.nn.Linear(4, 3)]
    net = models.MLP(2, (5, 4), 3, generator=runtime.seed(11))
    for ours, other in zip([*net.hidden, net.head], theirs, strict=True):
        assert torch.equal(ours.weight, other.weight)
        assert torch.equal(ours.bias, other.bias)


def test_head_of_features_is_the_net():
    net = models.MLP(2, (5, 4), 3, generator=runtime.seed(0))
    x = torch.randn(6, 2, generator=runtime.seed(1))
    first = torch.tanh(x @ net.hidden[0].weight.T + net.hidden[0].bias)
    torch.testing.assert_close(net.features(x), torch.tanh(first @ net.hidden[1].weight.T + net.hidden[1].bias))
    torch.testing.assert_close(net(x), net.head(net.features(x)))
    assert net(x).shape == (6, 3)


def test_no_hidden_layer_is_a_linear_map():
    net = models.MLP(2, (), 1, generator=runtime.seed(0))
    x = torch.randn(6, 2, generator=runtime.seed(1))
    torch.testing.assert_close(net(x), x @ net.head.weight.T + net.head.bias)
    assert torch.equal(net.features(x), x)


def test_two_ways_to_give_a_std():
    x = torch.randn(6, 2, generator=runtime.seed(1))
    mean_net = models.MLP(2, (5,), 3, generator=runtime.seed(0))
    mean, log_std = models.LearntNoise(mean_net, initial_std=0.5)(x)
    assert torch.equal(mean, mean_net(x))
    torch.testing.assert_close(log_std.exp(), torch.full((6, 3), 0.5))
    net = models.MLP(2, (5,), 4, generator=runtime.seed(0))
    mean, log_std = models.MeanNoiseNet(net)(x)
    assert torch.equal(torch.cat([mean, log_std], 1), net(x))
    assert mean.shape == log_std.shape == (6, 2)


def test_predict():
    x = torch.randn(6, 2, generator=runtime.seed(1))
    net = models.MLP(2, (5,), 4, generator=runtime.seed(0))
    fixed = models.predict(net, x, std=0.3)
    assert torch.equal(fixed.mean, net(x))
    assert (fixed.total_std == 0.3).all()
    assert not fixed.mean.requires_grad
    own = models.predict(models.MeanNoiseNet(net), x)
    torch.testing.assert_close(own.total_std, net(x)[:, 2:].exp())


def test_the_learnt_std_is_trainable_and_saved():
    net = models.LearntNoise(models.MLP(1, (4,), 1, generator=runtime.seed(0)))
    assert "log_std" in dict(net.named_parameters())
    assert net.log_std.is_leaf
    assert "log_std" in net.state_dict()


@pytest.mark.bad_input
def test_refuses():
    net = models.MLP(2, (5,), 3, generator=runtime.seed(0))
    x = torch.zeros(4, 2)
    cases = [
        (lambda: models.MLP(0, (5,), 1, generator=runtime.seed(0)), ValueError, "inputs: expected a whole number"),
        (lambda: models.MLP(1, (0,), 1, generator=runtime.seed(0)), ValueError, "widths: expected a whole number"),
        (lambda: models.MLP(1, (2.5,), 1, generator=runtime.seed(0)), TypeError, "widths: expected a whole number"),
        (lambda: net(torch.zeros(4)), ValueError, r"x: expected shape \(n, k\), got \(4,\)"),
        (lambda: net(torch.zeros(4, 3)), ValueError, r"x: expected shape \(n, 2\), got \(4, 3\)"),
        (lambda: models.MeanNoiseNet(net), ValueError, "net: expected 2k outputs"),
        (lambda: models.LearntNoise(net, initial_std=0.0), ValueError, "initial_std: expected a finite number above 0"),
        (lambda: net(x.float()), TypeError, "x is torch.float32 but the net is torch.float64"),
        (lambda: models.MLP(1, (5,), 1, generator=None), TypeError, "generator: expected a torch.Generator, got None"),
        (lambda: models.MLP(1, 5, 1, generator=runtime.seed(0)), TypeError, "widths: expected a sequence"),
        (
            lambda: models.MLP(1, (5,), 1, generator=runtime.seed(0), activation=torch.nn.Tanh),
            TypeError,
            "activation: expected a function",
        ),
        (lambda: models.predict(torch.nn.Sequential(torch.nn.Dropout(0.5)), x, std=1.0), ValueError, "call net.eval"),
        (lambda: models.predict(net, x), ValueError, "std: this net returns only a mean: give std="),
        (lambda: models.predict(models.LearntNoise(net), x, std=1.0), ValueError, "brings its own noise"),
    ]
    for call, error, words in cases:
        with pytest.raises(error, match=words):
            call()
