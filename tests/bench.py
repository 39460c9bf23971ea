"""`make bench`: speed as ratios within one run. Absolute seconds mean nothing on shared machines."""

import subprocess
import sys
import time
from pathlib import Path

import bench_laplace
import torch
from torch.distributions import Normal

from uqlib import _optimise, datasets, losses, models, runtime, training

ROOT = Path(__file__).parents[1]


def wall(*command):
    """Seconds of a command in a new process."""
    start = time.perf_counter()
    subprocess.run([sys.executable, *command], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def best(job, times=5):
    """Least seconds of several calls: the least disturbed by the machine."""
    seconds = []
    for _ in range(times):
        start = time.perf_counter()
        job()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def imports():
    """`import uqlib` with all that it can load without drawing, beside `import torch`, alternating."""
    ours = "import uqlib; uqlib.Predictive, uqlib.datasets, uqlib.losses, uqlib.models, uqlib.runtime, uqlib.training"
    pairs = [(wall("-c", "import uqlib"), wall("-c", ours), wall("-c", "import torch")) for _ in range(5)]
    bare, full, torch_alone = (min(column) for column in zip(*pairs, strict=True))
    return bare / torch_alone, full / torch_alone


def origin_fit():
    """1000 steps of the origin's learnt-noise net by `fit`, and by the usual loop with the same decay and history."""
    x, y = datasets.toy("heteroskedastic").training(n=100, generator=runtime.seed(42))

    def ours():
        net = models.LearntNoise(models.MLP(1, (4, 4), 1, generator=runtime.seed(0), activation=torch.relu))

        def loss(x, y):
            mean, log_std = net(x)
            return losses.gaussian_nll(mean, y, log_std=log_std)

        training.fit(loss, net.parameters(), (x, y), steps=1000, lr=1e-2)

    def usual():
        net = models.MLP(1, (4, 4), 1, generator=runtime.seed(0), activation=torch.relu)
        log_std = torch.nn.Parameter(torch.zeros(1))
        optimiser = torch.optim.Adam([*net.parameters(), log_std], lr=1e-2)
        decay = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, T_max=1000)
        history = []
        for _ in range(1000):
            optimiser.zero_grad()
            loss = -Normal(net(x), log_std.exp()).log_prob(y).mean()
            history.append(loss.item())
            loss.backward()
            optimiser.step()
            decay.step()

    def stripped():
        """What is left if nothing is checked or recorded: forward, backward, fused Adam, written out for this net."""
        net = models.LearntNoise(models.MLP(1, (4, 4), 1, generator=runtime.seed(0), activation=torch.relu))
        layers, weights = [*net.mean_net.hidden, net.mean_net.head], list(net.parameters())
        update = _optimise.adam(weights, 1000, 1e-2, "cosine", 0.0)[1]
        for step in range(1000):
            h = x
            for layer in layers[:-1]:
                h = torch.relu(torch.nn.functional.linear(h, layer.weight, layer.bias))
            z = (y - torch.nn.functional.linear(h, layers[-1].weight, layers[-1].bias)) * torch.exp(-net.log_std)
            loss = 0.5 * (z * z).mean() + net.log_std.mean() + losses.HALF_LOG_TWO_PI
            update(step, list(torch.autograd.grad(loss, weights)))

    jobs = (usual, ours, stripped)
    for job in jobs:
        job()
    rounds = [[best(job, 1) for job in jobs] for _ in range(9)]  # alternating, so that all see the same disturbance
    slow, fast, fastest = (min(column) for column in zip(*rounds, strict=True))
    return slow / fast, slow / fastest


def ensemble():
    """50 members in one vectorised pass, beside a loop of 50 fits, in CPU seconds."""
    x, y = datasets.toy("homoskedastic").training(n=100, generator=runtime.seed(0))

    def build():
        return [models.MLP(1, (10, 10), 1, generator=runtime.seed(i)) for i in range(50)]

    def together():
        training.fit_ensemble(
            lambda m, x, y: losses.gaussian_nll(m(x), y, std=0.2), build(), (x, y), steps=200, lr=1e-2
        )

    def apart():
        for one in build():
            training.fit(
                lambda x, y, m=one: losses.gaussian_nll(m(x), y, std=0.2), one.parameters(), (x, y), steps=200, lr=1e-2
            )

    together()
    return best(apart, 1) / best(together, 3)


def main():
    """Print the table."""
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    unit = best(lambda: wall("-c", "import torch, matplotlib.pyplot"), 3)
    print(f"one unit, importing torch and pyplot: {unit:.2f} s here and now")
    bare, full = imports()
    print(f"import uqlib:                          {bare:5.2f} x import torch")
    print(f"import uqlib and its modules:          {full:5.2f} x import torch   (at most 1.10)")
    ours, limit = origin_fit()
    print(f"1000 steps, fit against usual loop:    {ours:5.2f} times as fast  (aim 3, least 2.5)")
    print(f"  the same, stripped of every check:   {limit:5.2f} times as fast  (what autograd leaves possible here)")
    print(f"50 members, one pass against a loop:   {ensemble():5.2f} times as fast")
    numbers = [path.name[:2] for path in sorted((ROOT / "notebooks").glob("[0-9][0-9]_*.ipynb"))]
    for number in numbers:
        alone = wall("-m", "uqlib", "execute", number) / unit
        print(f"notebook {number}, alone:                   {alone:5.2f} units")
    for some, limit in (("00 01 02 03", 12), ("04 14", 10), ("05 06 07 08 09 10", 18), ("11 12 13 15", 22)):
        together = best(lambda: wall("-m", "uqlib", "execute", *some.split()), 2) / unit  # noqa: B023
        print(f"{some}, two at a time: {together:5.2f} units  (at most {limit})")
    whole = best(lambda: wall("-m", "uqlib", "run"), 1) / unit
    print(f"make notebooks, in order, with HTML:   {whole:5.2f} units")
    bench_laplace.main()


if __name__ == "__main__":
    main()
