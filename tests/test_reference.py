"""The Hamiltonian Monte Carlo behind notebook 12: against a closed form, against pyro, and what it has stored."""

import sys
from pathlib import Path

import pytest
import torch

from uqlib import datasets, models, runtime

sys.path.insert(0, str(Path(__file__).parents[1] / "data"))
import make_posterior


def test_draws_have_the_moments_of_a_gaussian_posterior():
    generator = runtime.seed(0)
    phi, y = (torch.randn(15, k, generator=generator, dtype=torch.float64) for k in (3, 1))
    precision = phi.T @ phi / 0.5**2 + torch.eye(3, dtype=torch.float64)
    cov = torch.linalg.inv(precision)
    mean = cov @ phi.T @ y[:, 0] / 0.5**2

    def energy(w):
        return 0.5 * ((y[:, 0] - w @ phi.T) / 0.5).square().sum(1) + 0.5 * w.square().sum(1)

    start = torch.randn(64, 3, generator=generator, dtype=torch.float64)
    draws, rate = make_posterior.hmc(energy, start, generator, warm_up=300, kept=150, leapfrog=15)
    assert draws.shape == (64, 150, 3) and 0.7 < rate < 0.9
    flat = draws.flatten(0, 1)  # 9600 draws, nearly independent: 1 % of a std, 1.4 % of a variance
    assert ((flat.mean(0) - mean) / cov.diagonal().sqrt()).abs().max() < 0.05
    torch.testing.assert_close(torch.cov(flat.T), cov, rtol=0.08, atol=0.03 * cov.diagonal().max().item())


def test_energy_is_minus_the_log_posterior():
    """Against torch.distributions and an MLP that holds the same weights."""
    x, y, generator = make_posterior.toy(0)
    x, y = x.double(), y.double()
    w = torch.randn(2, 31, generator=generator, dtype=torch.float64)
    expected = []
    for row in w:
        net = models.MLP(1, (10,), 1, generator=runtime.seed(0)).double()
        inner, shift, outer = row[:30].reshape(3, 10)
        parts = {"hidden.0.weight": inner[:, None], "hidden.0.bias": shift, "head.weight": outer[None]}
        net.load_state_dict(parts | {"head.bias": row[30:]})
        with torch.no_grad():
            torch.testing.assert_close(make_posterior.functions(row[None], x)[0], net(x)[:, 0])
            log_likelihood = torch.distributions.Normal(net(x), 0.1).log_prob(y).sum()
        expected.append(-log_likelihood - torch.distributions.Normal(0.0, 1.0).log_prob(row).sum())
    found = make_posterior.energy(w, x, y)
    torch.testing.assert_close(found[0] - found[1], expected[0] - expected[1])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_predictions_agree_with_pyro():
    """A net of two units: NUTS, with its own step sizes and masses, and ours give the same mean and std."""
    import pyro
    from pyro import distributions, infer

    generator = runtime.seed(3)
    x = torch.linspace(-1, 1, 8, dtype=torch.float64)[:, None]
    y = torch.sin(3 * x) + 0.5 * torch.randn(x.shape, generator=generator, dtype=torch.float64)
    places = torch.tensor([[-1.5], [-0.5], [0.0], [1.0], [2.0]], dtype=torch.float64)

    def model():
        w = pyro.sample("w", distributions.Normal(torch.zeros(7, dtype=torch.float64), 1.0).to_event(1))
        mean = make_posterior.functions(w[None], x, units=2)[0]
        pyro.sample("y", distributions.Normal(mean, 0.5).to_event(1), obs=y[:, 0])

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        chain = infer.MCMC(infer.NUTS(model), num_samples=500, warmup_steps=200, disable_progbar=True)
        chain.run()
    theirs = make_posterior.functions(chain.get_samples()["w"], places, units=2)
    start = torch.randn(32, 7, generator=generator, dtype=torch.float64)
    draws, _ = make_posterior.hmc(
        lambda w: make_posterior.energy(w, x, y, noise_std=0.5, units=2),
        start,
        generator,
        warm_up=150,
        kept=200,
        leapfrog=25,
    )
    ours = make_posterior.functions(draws.flatten(0, 1), places, units=2)
    error = theirs.std(0) / make_posterior.effective_sample_size(theirs[None], 0, 1).sqrt()
    assert ((ours.mean(0) - theirs.mean(0)) / error).abs().max() < 4
    torch.testing.assert_close(ours.std(0), theirs.std(0), rtol=0.12, atol=0)


def test_the_stored_posterior_has_converged():
    stored = datasets.reference("posterior")
    assert stored["gradients"] == stored["chains"] * (stored["warm_up"] + stored["kept"]) * stored["leapfrog"]
    for seed, one in enumerate(stored["sets"]):
        assert one["seed"] == seed and one["r_hat"] < 1.02 and one["effective_draws"] > 1000
        draws, mean, std = (torch.tensor(one[key]) for key in ("draws", "mean", "std"))
        assert draws.shape == (make_posterior.THINNED, len(stored["x"]))
        assert ((draws.mean(0) - mean) / std).abs().max() < 4 / make_posterior.THINNED**0.5
        assert (draws.std(0) / std - 1).abs().max() < 4 / (2 * make_posterior.THINNED) ** 0.5
