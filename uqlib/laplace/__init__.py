"""The posterior of a last layer: streamed sums, Cholesky, closed-form predictions, samples, evidence.

The model is a linear head on features phi(x), with Gaussian noise and a Gaussian prior on the head's weights:

.. math:: y = W^\\top \\phi(x) + \\sigma\\,\\varepsilon, \\qquad W_{ij} \\sim \\mathcal N(0, 1/\\tau_i)

Given the features, the noise and tau, the posterior of the weights is exactly Gaussian. `fit` takes features, or any
function that computes them; `fit_head` takes a net split into features and head; `fit_mean_noise` a net that outputs
mean and log std. Everything is computed in float64, whatever the dtype of the features.
"""

from uqlib.laplace._evidence import maximise_evidence
from uqlib.laplace._factor import cholesky
from uqlib.laplace._fitting import fit, posterior
from uqlib.laplace._heads import MeanNoisePosterior, fit_head, fit_mean_noise
from uqlib.laplace._posterior import Posterior
from uqlib.laplace._statistics import Statistics, all_reduce, statistics

__all__ = [
    "MeanNoisePosterior",
    "Posterior",
    "Statistics",
    "all_reduce",
    "cholesky",
    "fit",
    "fit_head",
    "fit_mean_noise",
    "maximise_evidence",
    "posterior",
    "statistics",
]
