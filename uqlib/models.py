"""Small nets, their last layer kept apart, and the two ways to give a mean a std."""

import itertools
import math
from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn

from uqlib import _checks
from uqlib.predictive import Predictive


class MLP(nn.Module):
    r"""A multilayer perceptron as features and head: :math:`\text{net}(x) = W\,\phi(x) + b`.

    `features(x)` are the activations of the last hidden layer, (n, width); `head` is the linear layer on top. With
    d inputs, hidden `widths` and k outputs it maps (n, d) to (n, k). Weights and biases of a layer with m inputs
    start uniform on :math:`\pm 1/\sqrt m`, torch's default, drawn on the CPU from `generator`: move the net after.

    Raises TypeError or ValueError for sizes that are not whole numbers of at least one.
    """

    def __init__(
        self,
        inputs: int,
        widths: Sequence[int],
        outputs: int,
        *,
        generator: torch.Generator,
        activation: Callable[[Tensor], Tensor] = torch.tanh,
    ) -> None:
        super().__init__()
        _checks.cpu_generator(generator)
        _checks.function("activation", activation, "torch.tanh")
        if not isinstance(widths, Sequence) or isinstance(widths, str):
            raise TypeError(f"widths: expected a sequence of whole numbers such as (10, 10), got {widths!r}")
        sizes = [_checks.count("inputs", inputs)]
        sizes += [_checks.count("widths", width) for width in widths]
        self.hidden = nn.ModuleList(_linear(a, b, generator) for a, b in itertools.pairwise(sizes))
        self.head = _linear(sizes[-1], _checks.count("outputs", outputs), generator)
        self.activation = activation

    def features(self, x: Float[Tensor, "n d"]) -> Float[Tensor, "n width"]:
        """The activations of the last hidden layer at x, (n, width); x itself if there is no hidden layer."""
        _checks.points("x", x, (self.hidden[0] if self.hidden else self.head).in_features, self.head.weight)
        for layer in self.hidden:
            x = self.activation(layer(x))
        return x

    def forward(self, x: Float[Tensor, "n d"]) -> Float[Tensor, "n k"]:
        """The outputs at x, (n, k)."""
        return self.head(self.features(x))


class Standardise(nn.Module):
    r"""Inputs with mean 0 and std 1 as the first layer of a net: :math:`x \mapsto (x - m) / s`, column by column.

    `mean` m and `std` s (with 1/n), both (1, d), are taken from the training inputs x, (n, d), in their units. They
    are buffers: saved with the weights, moved with the net, not trained. Write
    `torch.nn.Sequential(Standardise(x), net)`, net with its noise if it has any, and raw inputs are right from then on.

    Raises ValueError for a single point, values that are not finite, or a constant column, which is named.
    """

    def __init__(self, x: Float[Tensor, "n d"]) -> None:
        super().__init__()
        mean, std = _checks.spread("x", _checks.matrix("x", x))
        self.register_buffer("mean", mean)
        self.register_buffer("std", std)

    def forward(self, x: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
        """The standardised inputs, (n, d)."""
        _checks.points("x", x, self.mean.shape[1], self.mean)
        return (x - self.mean) / self.std


class LearntNoise(nn.Module):
    r"""A mean net plus one learnt std per output: :math:`x \mapsto (\mu(x), \log\sigma)`, both (n, k).

    `log_std` is the parameter, shape (1, k), started at `log(initial_std)`. The log keeps sigma above zero without
    a constraint. Raises ValueError unless `initial_std` is above zero.
    """

    def __init__(self, mean_net: MLP, initial_std: float = 1.0) -> None:
        super().__init__()
        self.mean_net = _mlp("mean_net", mean_net)
        start = math.log(_checks.positive_number("initial_std", initial_std))
        self.log_std = nn.Parameter(torch.full_like(mean_net.head.bias[None, :], start).detach())

    def forward(self, x: Float[Tensor, "n d"]) -> tuple[Float[Tensor, "n k"], Float[Tensor, "n k"]]:
        """Mean and log std at x, both (n, k)."""
        mean = self.mean_net(x)
        return mean, self.log_std.expand_as(mean)


class MeanNoiseNet(nn.Module):
    r"""A net whose 2k outputs are k means and k log stds: :math:`x \mapsto (\mu(x), \log\sigma(x))`, both (n, k).

    Raises ValueError if the net has an odd number of outputs.
    """

    def __init__(self, net: MLP) -> None:
        super().__init__()
        if _mlp("net", net).head.out_features % 2:
            raise ValueError(f"net: expected 2k outputs (k means, k log stds), got {net.head.out_features}")
        self.net = net

    def forward(self, x: Float[Tensor, "n d"]) -> tuple[Float[Tensor, "n k"], Float[Tensor, "n k"]]:
        """Mean and log std at x, both (n, k)."""
        mean, log_std = self.net(x).chunk(2, dim=-1)
        return mean, log_std


def predict(net: nn.Module, x: Float[Tensor, "n d"], *, std: _checks.Scalar | None = None) -> Predictive:
    """What the net says at x, as a `Predictive` without gradient; the epistemic std is zero.

    A net that returns (mean, log_std) brings its own noise; one that returns only a mean needs `std`, a scalar or
    (n, k), in the units of y. Raises ValueError if the std is missing, or given twice, TypeError for a net that
    returns anything else, such as a flow, which has `log_prob` and `sample`.
    """
    _checks.eval_mode("net", net)
    with torch.no_grad():
        output = net(x)
        brings_noise = isinstance(output, tuple)
        parts = output if brings_noise else (output,)
        got = [tuple(part.shape) if isinstance(part, Tensor) else type(part).__name__ for part in parts]
        alike = len(got) == 1 + brings_noise and len(set(got)) == 1 and isinstance(parts[0], Tensor)
        if not alike or got[0][:1] != x.shape[:1]:
            raise TypeError(
                f"net: expected a mean or (mean, log_std), both (n, k), got {got} from {type(net).__name__}"
            )
        if brings_noise == (std is not None):
            need = "brings its own noise: leave std out" if brings_noise else "returns only a mean: give std=..."
            raise ValueError(f"std: this net {need}")
        std = std.detach() if isinstance(std, Tensor) else std
        return Predictive(output[0], output[1].exp()) if brings_noise else Predictive(output.detach(), std)


def _mlp(name: str, net: object) -> nn.Module:
    if not hasattr(net, "head"):
        raise TypeError(
            f"{name}: expected a net with a head, such as MLP, got {type(net).__name__}; put Standardise outermost: "
            "Sequential(Standardise(x), MeanNoiseNet(mlp))"
        )
    return net


def _linear(inputs: int, outputs: int, generator: torch.Generator) -> nn.Linear:
    """torch's default initialisation, but from the given generator: nn.Linear would use the global one."""
    layer = nn.utils.skip_init(nn.Linear, inputs, outputs, device="cpu")
    nn.init.kaiming_uniform_(layer.weight, a=5**0.5, generator=generator)
    bound = 1 / math.sqrt(inputs)
    nn.init.uniform_(layer.bias, -bound, bound, generator=generator)
    return layer
