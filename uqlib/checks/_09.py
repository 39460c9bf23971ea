"""Exercises of notebook 09, Both uncertainties."""

from uqlib import laplace
from uqlib.checks._exercise import Exercise
from uqlib.predictive import Predictive

_BETTER = 0.05
_MAY_BE = (1.05**2 - 1) ** 0.5  # epistemic over aleatoric, for a total 5 % above the noise


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
        numbers={"aleatoric": (0.2, 0.1, 0.25), "epistemic": (0.15, 0.2, 0.3), "points": (100, 50, 200)},
        right=lambda aleatoric, epistemic, points: points * (epistemic / (aleatoric * _MAY_BE)) ** 2,
        wrong=(
            (
                "stds do not add: an epistemic std of 5 % of the noise is far less than is needed",
                lambda aleatoric, epistemic, points: points * (epistemic / (0.05 * aleatoric)) ** 2,
            ),
            (
                "the epistemic std falls with the root of the number of points: square the ratio",
                lambda aleatoric, epistemic, points: points * epistemic / (aleatoric * _MAY_BE),
            ),
            (
                "that many more: how many in all, with those that you have?",
                lambda aleatoric, epistemic, points: points * ((epistemic / (aleatoric * _MAY_BE)) ** 2 - 1),
            ),
            (
                "5 % more of the variance: the std is to be 5 % larger, so square 1.05",
                lambda aleatoric, epistemic, points: points * (epistemic / aleatoric) ** 2 / 0.05,
            ),
            (
                "the noise does not shrink: only the epistemic part does",
                lambda aleatoric, epistemic, points: points * (aleatoric**2 + epistemic**2) / (1.05 * aleatoric) ** 2,
            ),
            (
                "how many points, not how many times as many",
                lambda aleatoric, epistemic: (epistemic / (aleatoric * _MAY_BE)) ** 2,
            ),
            (
                "that is the epistemic std that you may have: how many points give it?",
                lambda aleatoric: aleatoric * _MAY_BE,
            ),
        ),
        hints=(
            "Which epistemic std may you still have beside this noise? Then: how many points for that?",
            "aleatoric^2 + s^2 = (1.05 aleatoric)^2 gives s. It falls as the root of n: n = $points (epistemic / s)^2.",
            "s = $aleatoric * (1.05**2 - 1)**0.5; $points * ($epistemic / s)**2, about $right.",
        ),
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
