"""Exercises of notebook 09, Both uncertainties."""

from uqlib import laplace
from uqlib.checks._exercise import Exercise
from uqlib.predictive import Predictive

_BETTER = 0.05


def _percent(aleatoric, epistemic, times, power=0.5):
    """By how many per cent the total is smaller when the epistemic std is divided by times ** power."""
    wide = (aleatoric**2 + epistemic**2) ** 0.5
    return 100 * (1 - (aleatoric**2 + (epistemic / times**power) ** 2) ** 0.5 / wide)


def _predictions(prediction):
    """The prediction of the notebook, and one with other stds: the answer must use its argument."""
    aleatoric, epistemic = 0.5 * prediction.aleatoric_std, prediction.epistemic_std.flip(0)
    return [(prediction,), (Predictive(prediction.mean, aleatoric, epistemic),)]


def _share(form):
    """A function of a prediction that computes with its aleatoric and its epistemic std."""
    return lambda: lambda prediction: form(prediction.aleatoric_std, prediction.epistemic_std)


def _taken(posterior, inside, std):
    """For each place of one measurement with a noise std: the share of the mean variance that it takes away."""
    joint = posterior.joint_cov(inside)[0]
    s2 = joint.diagonal()
    return (joint**2 / (s2 + std**2)).mean(0) / s2.mean()


def _best(posterior, inside, std=_BETTER):
    return _taken(posterior, inside, std).max().item()


def _old(posterior):
    return posterior.noise_std.max().item()


def _all_better(posterior, inside):
    """As if all points had been measured with the better instrument."""
    options = {"noise_std": _BETTER, "prior_precision": posterior.prior_precision[0].item()}
    return _best(laplace.posterior(posterior.statistics, features=posterior.features, **options), inside)


EXERCISES = {
    "09_1": Exercise(
        numbers={"aleatoric": (0.2, 0.1, 0.3, 0.4), "epistemic": (0.15, 0.1, 0.2, 0.3), "times": (4, 9, 16)},
        right=lambda aleatoric, epistemic, times: _percent(aleatoric, epistemic, times),
        wrong=(
            ("the noise does not shrink", lambda times: 100 * (1 - times**-0.5)),
            (
                "stds do not add: variances do",
                lambda aleatoric, epistemic, times: (
                    100 * (1 - (aleatoric + epistemic / times**0.5) / (aleatoric + epistemic))
                ),
            ),
            (
                "the epistemic std falls with the root of the number of points",
                lambda aleatoric, epistemic, times: _percent(aleatoric, epistemic, times, power=1),
            ),
            ("in per cent", lambda aleatoric, epistemic, times: _percent(aleatoric, epistemic, times) / 100),
            (
                "that compares variances: take the roots first",
                lambda aleatoric, epistemic, times: 100 * (1 - (1 - _percent(aleatoric, epistemic, times) / 100) ** 2),
            ),
            (
                "that is what is left: by how many per cent is it narrower?",
                lambda aleatoric, epistemic, times: 100 - _percent(aleatoric, epistemic, times),
            ),
            (
                "in per cent of the band before, not of the band after",
                lambda aleatoric, epistemic, times: 100 / (1 - _percent(aleatoric, epistemic, times) / 100) - 100,
            ),
        ),
        hints=(
            "Which of the two parts do more data shrink, and by which factor? Write the total before and after.",
            "total^2 = aleatoric^2 + (epistemic / root of $times)^2; narrower by 100 (1 - total after / total before).",
            "100 * (1 - ($aleatoric**2 + ($epistemic / $times**0.5)**2)**0.5 / ($aleatoric**2 + $epistemic**2)**0.5), "
            "about $right.",
        ),
        tolerance=0.035,  # whole per cents will do
    ),
    "09_2": Exercise(
        at=_predictions,
        right=_share(lambda sigma, s: s**2 / (sigma**2 + s**2)),
        wrong=(
            ("that is a ratio of stds: of variances is asked", _share(lambda sigma, s: s / (sigma**2 + s**2).sqrt())),
            ("of the total variance, not of that of the noise", _share(lambda sigma, s: s**2 / sigma**2)),
            ("stds do not add: variances do", _share(lambda sigma, s: s / (sigma + s))),
            ("square first, then add", _share(lambda sigma, s: s**2 / (sigma + s) ** 2)),
            ("that is the share of the noise", _share(lambda sigma, s: sigma**2 / (sigma**2 + s**2))),
            ("a share, not per cent", _share(lambda sigma, s: 100 * s**2 / (sigma**2 + s**2))),
            (
                "over the total variance, not over the total std",
                _share(lambda sigma, s: s**2 / (sigma**2 + s**2).sqrt()),
            ),
            ("that is the epistemic variance: of the total", _share(lambda sigma, s: s**2)),
            (
                "sigma belongs to the prediction too: take both stds from the argument",
                lambda prediction: (
                    lambda other: other.epistemic_std**2 / (prediction.aleatoric_std**2 + other.epistemic_std**2)
                ),
            ),
            (
                "the same for every prediction: use the argument of your function",
                lambda prediction: lambda other: prediction.epistemic_std**2 / prediction.total_std**2,
            ),
        ),
        hints=(
            "Which two quantities add up to the whole? The share is one of them over their sum.",
            "share = s^2 / total^2, with total^2 = sigma^2 + s^2.",
            "lambda prediction: prediction.epistemic_std**2 / prediction.total_std**2",
        ),
    ),
    "09_3": Exercise(
        right=lambda posterior, inside: _best(posterior, inside),
        wrong=(
            ("that is the old instrument", lambda posterior, inside: _best(posterior, inside, _old(posterior))),
            ("0.05 is a std: square it", lambda posterior, inside: _best(posterior, inside, _BETTER**0.5)),
            (
                "the use is not inverse to sigma^2: s(u)^2 stays in the denominator",
                lambda posterior, inside: _best(posterior, inside, _old(posterior)) * (_old(posterior) / _BETTER) ** 2,
            ),
            (
                "that is a perfect instrument: sigma^2 = 0.0025 stays",
                lambda posterior, inside: _best(posterior, inside, 0),
            ),
            (
                "that is the mean over u: at its best place",
                lambda posterior, inside: _taken(posterior, inside, _BETTER).mean().item(),
            ),
            (
                "that is at the place of the largest s, not at the best one",
                lambda posterior, inside: _taken(posterior, inside, _BETTER)[
                    posterior.joint_cov(inside)[0].diagonal().argmax()
                ].item(),
            ),
            (
                "that is a variance: divide by the mean variance before",
                lambda posterior, inside: (
                    _best(posterior, inside) * posterior.joint_cov(inside)[0].diagonal().mean().item()
                ),
            ),
            ("that is the share left over", lambda posterior, inside: 1 - _best(posterior, inside)),
            ("a share, not per cent", lambda posterior, inside: 100 * _best(posterior, inside)),
            (
                "the points so far were measured with the old instrument: keep `posterior`",
                _all_better,
            ),
        ),
        hints=(
            "`usefulness` has sigma in one place. What stands there for the better instrument, and what stays?",
            "cov(f(x), f(u))^2 / (s(u)^2 + 0.05^2), mean over x, over the mean of s^2; then the maximum over u.",
            "joint = posterior.joint_cov(inside)[0]; "
            "best_share = ((joint**2 / (s2 + 0.05**2)).mean(0) / s2.mean()).max()",
        ),
    ),
}
