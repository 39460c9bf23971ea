"""`make reference`: the exact posterior of the small net of notebook 12, by Hamiltonian Monte Carlo.

y = sin(3x) + 0.1 noise, twenty x in [-1, -0.3] and twenty in [0.3, 1]; a net of ten tanh units; N(0, 1) on all 31
weights. Pyro's NUTS moves one chain at a time, in about the time of a thousand steps of `hmc` for each of its draws;
`hmc` moves 32 chains at once. A test compares the two on a smaller net, and `hmc` with a closed form.
"""

import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import torch
from make_reference import write
from pyro.ops.stats import effective_sample_size, split_gelman_rubin

from uqlib import runtime

SEEDS, CHAINS, WARM_UP, KEPT, LEAPFROG = range(5), 32, 300, 300, 150
UNITS, NOISE_STD, THINNED = 10, 0.1, 64
GRID = [i / 20 for i in range(-40, 41)]


def toy(seed):
    """The data set of one seed, x and y (40, 1), and the generator that goes on from there."""
    generator = runtime.seed(seed)
    u = torch.rand((40, 1), generator=generator)
    x = torch.cat((-1 + 0.7 * u[:20], 0.3 + 0.7 * u[20:]))
    return x, torch.sin(3 * x) + NOISE_STD * torch.randn(x.shape, generator=generator), generator


def functions(w, x, units=UNITS):
    """Net outputs at x, (n, 1), for each row of weights, (c, 3 units + 1): one row of n values for each."""
    inner, shift, outer = w[:, : 3 * units].unflatten(1, (3, units)).unbind(1)
    hidden = torch.tanh(x[:, 0, None] * inner[:, None] + shift[:, None])
    return (hidden @ outer[..., None])[..., 0] + w[:, 3 * units :]


def energy(w, x, y, noise_std=NOISE_STD, units=UNITS):
    """Minus the log posterior of each row of weights, up to a constant, (c,)."""
    residuals = (y[:, 0] - functions(w, x, units)) / noise_std
    return 0.5 * residuals.square().sum(1) + 0.5 * w.square().sum(1)


def hmc(energy, w, generator, *, warm_up, kept, leapfrog, accepted=0.8):
    """Draws from exp(-energy), (chains, kept, weights), from starts w, (chains, weights), and the acceptance rate.

    Each chain is a ball rolling on the energy with momentum drawn anew each time; `leapfrog` steps follow its path, and
    a Metropolis test corrects their error. In the warm-up each chain settles its own step size.
    Source: Neal (2011), MCMC using Hamiltonian dynamics.
    """

    def slope(w):
        w = w.detach().requires_grad_()
        value = energy(w)
        return value.detach(), torch.autograd.grad(value.sum(), w)[0]

    draws, rates = [], []
    log_step = w.new_full((len(w), 1), -5.0)
    value, gradient = slope(w)
    for iteration in range(warm_up + kept):
        step = log_step.exp() * (0.8 + 0.4 * torch.rand(log_step.shape, generator=generator, dtype=w.dtype))
        momentum = torch.randn(w.shape, generator=generator, dtype=w.dtype)
        start = value + 0.5 * momentum.square().sum(1)
        there, value_there, pull = w, value, gradient
        for _ in range(leapfrog):
            momentum = momentum - 0.5 * step * pull
            there = there + step * momentum
            value_there, pull = slope(there)
            momentum = momentum - 0.5 * step * pull
        change = start - value_there - 0.5 * momentum.square().sum(1)
        rate = change.clamp(max=0).exp().nan_to_num(0)
        taken = torch.rand(rate.shape, generator=generator, dtype=w.dtype) < rate
        w, gradient = (torch.where(taken[:, None], new, old) for new, old in ((there, w), (pull, gradient)))
        value = torch.where(taken, value_there, value)
        if iteration < warm_up:
            log_step = log_step + (0.1 if 2 * iteration < warm_up else 0.03) * (rate[:, None] - accepted)
        else:
            draws.append(w)
            rates.append(rate.mean().item())
    return torch.stack(draws, 1), sum(rates) / kept


def run(seed):
    """One data set: mean and std of the function on a grid, their R-hat, and a few functions."""
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    x, y, generator = toy(seed)
    start = torch.randn((CHAINS, 3 * UNITS + 1), generator=generator)
    options = {"warm_up": WARM_UP, "kept": KEPT, "leapfrog": LEAPFROG}
    w, rate = hmc(lambda w: energy(w, x, y), start, generator, **options)
    grid = torch.tensor(GRID)[:, None]
    values = functions(w.flatten(0, 1), grid).unflatten(0, (CHAINS, KEPT))
    folded = (values - values.mean((0, 1))).abs()  # its mean tells of the spread, as that of values of the place
    r_hat = max(split_gelman_rubin(part, 0, 1).max().item() for part in (values, folded))
    draws = min(effective_sample_size(part, 0, 1).min().item() for part in (values, folded))
    print(f"seed {seed}: R-hat {r_hat:.4f}, accepted {rate:.2f}", flush=True)
    thinned = values[:, :: KEPT * CHAINS // THINNED].flatten(0, 1)
    return {
        "seed": seed,
        "y": y[:, 0].tolist(),
        "r_hat": r_hat,
        "effective_draws": draws,
        "mean": values.mean((0, 1)).tolist(),
        "std": values.std((0, 1)).tolist(),
        "draws": [[round(v, 3) for v in row] for row in thinned.tolist()],
    }


def main():
    """All data sets, two at a time."""
    with ProcessPoolExecutor(2) as pool:
        rows = list(pool.map(run, SEEDS))
    if max(row["r_hat"] for row in rows) > 1.02:
        sys.exit("the chains do not agree (R-hat above 1.02): nothing was written; draw more")
    settings = {"chains": CHAINS, "warm_up": WARM_UP, "kept": KEPT, "leapfrog": LEAPFROG}
    settings["gradients"] = CHAINS * (WARM_UP + KEPT) * LEAPFROG
    stored = settings | {"x": GRID, "sets": rows}
    write(stored, Path(__file__).with_name("reference_posterior.json"))


if __name__ == "__main__":
    sys.exit(main())
