"""`make reference`: the twenty published splits of notebook 11, one recipe for every model, results in data/.

The recipe, fixed before any test part was looked at. In each split the training part is standardised; its last fifth
is the validation share, the rest the fit part. Every configuration below is trained on the fit part, and the one with
the lowest validation NLL is trained anew on the whole training part, five times. The factor that scales a std is the
RMS of the standardised validation residuals of the chosen net. Test points are used once, for the scores.
"""

import hashlib
import itertools
import json
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import torch

from uqlib import Predictive, datasets, laplace, losses, metrics, models, runtime, training

SPLITS = 20
ACTIVATIONS = {"tanh": torch.tanh, "relu": torch.relu}
STEPS = (200, 600, 2000)
PRIOR_PRECISIONS = (0.1, 1.0, 10.0)
CONFIGURATIONS = list(itertools.product(ACTIVATIONS, STEPS, PRIOR_PRECISIONS))
NETS, WIDTHS, LR = 5, (50,), 1e-2
KINDS = ("learnt", "heteroskedastic")


def splits(n):
    """The permutations behind the published tables: training rows first, one permutation after the other."""
    rng = np.random.RandomState(1)  # this generator made the published splits
    permutations = [torch.as_tensor(rng.permutation(n)) for _ in range(SPLITS)]
    size = round(0.9 * n)
    return [(rows[:size], rows[size:]) for rows in permutations]


def build(kind, inputs, activation, seed):
    """One untrained net."""
    outputs = {"learnt": 1, "heteroskedastic": 2}[kind]
    net = models.MLP(inputs, WIDTHS, outputs, generator=runtime.seed(seed), activation=ACTIVATIONS[activation])
    return models.LearntNoise(net) if kind == "learnt" else models.MeanNoiseNet(net)


def nll(net, x, y):
    """The training loss of both kinds."""
    mean, log_std = net(x)
    return losses.gaussian_nll(mean, y, log_std=log_std)


def train(kind, configuration, data, seeds):
    """One net for each data set and seed, all in one pass."""
    activation, steps, prior_precision = configuration
    x, y = (torch.stack(part) for part in zip(*data, strict=True))
    nets = [build(kind, x.shape[2], activation, seed) for seed in seeds]
    weight_decay = prior_precision / x.shape[1]
    training.fit_ensemble(nll, nets, (x, y), steps=steps, lr=LR, weight_decay=weight_decay)
    return nets


def standardised(table, train_rows, test_rows):
    """Training part in its own units, test part with y as it is, and the units of y."""
    units = {"shift": table.y[train_rows].mean(0, keepdim=True), "scale": table.y[train_rows].std(0, keepdim=True)}
    inputs = models.Standardise(table.x[train_rows])
    standard_y = (table.y[train_rows] - units["shift"]) / units["scale"]
    return (inputs(table.x[train_rows]), standard_y), (inputs(table.x[test_rows]), table.y[test_rows]), units


def scores(predictive, y):
    """NLL, RMSE, CRPS and coverage in the units of y."""
    return {
        "nll": metrics.nll(predictive, y).item(),
        "rmse": (predictive.mean - y).square().mean().sqrt().item(),
        "crps": metrics.crps(predictive, y).item(),
        "coverage": predictive.coverage(y, 0.95),
    }


def stretched(predictive, factor):
    """The same prediction with its std times a factor."""
    return Predictive(predictive.mean, factor * predictive.total_std)


def run(name, kind):
    """All splits of one data set by one kind of net."""
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    table = datasets.load(name)
    parts = [standardised(table, *rows) for rows in splits(len(table.x))]
    size = round(0.8 * len(parts[0][0][0]))
    fit = [(x[:size], y[:size]) for (x, y), _, _ in parts]
    validation = [(x[size:], y[size:]) for (x, y), _, _ in parts]
    tried = {}
    for configuration in CONFIGURATIONS:
        nets = train(kind, configuration, fit, range(SPLITS))
        for k, net in enumerate(nets):
            tried[k, configuration] = nll(net, *validation[k]).item(), net
        print(name, kind, configuration, f"{sum(tried[k, configuration][0] for k in range(SPLITS)) / SPLITS:.3f}")
    chosen = [min(CONFIGURATIONS, key=lambda c, k=k: tried[k, c][0]) for k in range(SPLITS)]
    rows = []
    for configuration in dict.fromkeys(chosen):
        mine = [k for k in range(SPLITS) if chosen[k] == configuration]
        data = [parts[k][0] for k in mine for _ in range(NETS)]
        seeds = [1000 + NETS * k + i for k in mine for i in range(NETS)]
        nets = train(kind, configuration, data, seeds)
        for place, k in enumerate(mine):
            five = nets[NETS * place : NETS * place + NETS]
            told = judge(kind, five, parts[k], tried[k, configuration][1], validation[k])
            rows.append({"split": k, "configuration": configuration} | told)
    return name, kind, sorted(rows, key=lambda row: row["split"])


def judge(kind, five, part, on_fit_part, validation):
    """The scores of one split: one net, its scaled std, five nets, and Laplace for the learnt noise."""
    training_part, (x, y), units = part
    held_out = models.predict(on_fit_part, validation[0])
    factor = ((validation[1] - held_out.mean) / held_out.total_std).square().mean().sqrt().item()
    several = [models.predict(net, x).rescale(**units) for net in five]
    alone, together = several[0], metrics.moment_matched(several)
    result = {
        "factor": factor,
        "one": scores(alone, y),
        "scaled": scores(stretched(alone, factor), y),
        "five": scores(together, y) | {"mixture_nll": metrics.mixture_nll(several, y).item()},
        "five_scaled": scores(stretched(together, factor), y),
    }
    if kind == "learnt":
        net = five[0]
        std = net.log_std.detach().exp().item()
        posterior = laplace.fit_head(net.mean_net, training_part, noise_std=std, prior_precision=1.0)
        tuned = laplace.maximise_evidence(posterior)
        result["laplace"] = scores(tuned.predict(x).rescale(**units), y)
    return result


def main():
    """Both data sets, both kinds, two at a time."""
    jobs = [(name, kind) for name in ("concrete", "mcycle") for kind in KINDS]
    with ProcessPoolExecutor(2) as pool:
        results = list(pool.map(run, *zip(*jobs, strict=True)))
    stored = {"configurations": CONFIGURATIONS, "nets": NETS}
    for name, kind, rows in results:
        stored.setdefault(name, {})[kind] = rows
    write(stored, Path(__file__).with_name("reference_calibration.json"))


def write(stored, target):
    """Six digits a number, one line a split: small, and a difference between two versions can be read."""
    short = json.loads(json.dumps(stored), parse_float=lambda digits: float(f"{float(digits):.6g}"))
    text = json.dumps(short).replace('{"s', '\n{"s')
    target.write_text(text + "\n")
    digest = hashlib.sha256(target.read_bytes()).hexdigest()
    print(f"wrote {target.name}; its sha256 goes into uqlib/datasets.py: {digest}")


if __name__ == "__main__":
    sys.exit(main())
