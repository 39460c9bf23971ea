"""`make bench`: speed as ratios within one run. Absolute seconds mean nothing on shared machines."""

import shutil
import subprocess
import sys
import time
from pathlib import Path

import bench_laplace
import torch
from torch.distributions import Normal

from uqlib import _optimise, datasets, flows, losses, models, runtime, training

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


def flow_gradient():
    """Loss and gradient of a flow on 1000 points, beside normflows with nets of the same sizes, alternating."""
    import normflows

    x = torch.randn((1000, 2), generator=runtime.seed(0))
    generator, ours, theirs = runtime.seed(0), [], []
    for i in range(8):
        ours.append(flows.AffineCoupling((i % 2 == 0, i % 2 == 1), (32,), generator=generator, activation=torch.relu))
        nets = (normflows.nets.MLP([2, 32, 2]) for _ in range(2))  # it has one net for the scale, one for the shift
        theirs.append(normflows.flows.MaskedAffineFlow(torch.tensor([1.0 * (i % 2 == 0), 1.0 * (i % 2)]), *nets))
    pair = (
        flows.NormalizingFlow(flows.DiagonalGaussian(2), ours),
        normflows.NormalizingFlow(normflows.distributions.DiagGaussian(2), theirs),
    )
    rounds = [[best(lambda: flow.forward_kld(x).backward(), 1) for flow in pair] for _ in range(30)]  # noqa: B023
    fast, slow = (min(column) for column in zip(*rounds, strict=True))
    return slow / fast


def step_seconds(n, width):
    """Seconds of one step of a fit: n points, two layers of that width."""
    x, y = datasets.toy("homoskedastic").training(n=n, generator=runtime.seed(0))
    net = models.MLP(1, (width, width), 1, generator=runtime.seed(0))

    def twenty():
        loss = lambda x, y: losses.gaussian_nll(net(x), y, std=0.2)  # noqa: E731
        training.fit(loss, net.parameters(), (x, y), steps=20, lr=1e-3)

    return best(twenty, 3) / 20


def slope(sizes, seconds):
    """The power by which the seconds grow with the size: least squares in the logarithms."""
    logs = torch.tensor([sizes, seconds]).log()
    across, up = logs - logs.mean(1, keepdim=True)
    return (across @ up / (across @ across)).item()


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
    print(f"flow, loss and gradient, normflows:    {flow_gradient():5.2f} times as long as ours")
    sizes, widths = (1_000, 10_000, 100_000), (32, 128, 512)
    growth = slope(sizes, [step_seconds(n, 32) for n in sizes]), slope(widths, [step_seconds(1_000, w) for w in widths])
    print(f"a step of fit grows with n to the {growth[0]:.2f}, with the width to the {growth[1]:.2f}")
    for number in (path.name[:2] for path in sorted((ROOT / "notebooks").glob("[0-9][0-9]_*.ipynb"))):
        alone = wall("-m", "uqlib", "execute", number) / unit
        print(f"notebook {number} and its solutions:        {alone:5.2f} units  (aim 12)", flush=True)
    whole = wall("-m", "uqlib", "execute") / unit
    print(f"all of them, two at a time:            {whole:5.1f} units  (aim 80)", flush=True)
    for name, aim in (("figures", 60), ("slides", 30), ("site", 30)):
        shutil.rmtree(ROOT / "build" / name.replace("figures", "bench"), ignore_errors=True)
        place = ["--out", "build/bench"] if name == "figures" else []
        made = wall("-m", "uqlib", name, *place) / unit
        print(f"make {name + ', from scratch':<26}        {made:5.1f} units  (aim {aim})", flush=True)
    bench_laplace.main()


if __name__ == "__main__":
    main()
