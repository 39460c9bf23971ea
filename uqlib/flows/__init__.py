"""Normalizing flows: a density made by bending a Gaussian, layer by layer, with the change of volume kept in a sum.

::

    flow = NormalizingFlow(DiagonalGaussian(2), [AffineCoupling((True, False), (32,), generator=g), ActNorm(2)])
    flow.initialise(x)
    training.fit(lambda x, _: flow.forward_kld(x), flow.parameters(), (x, x), steps=400, lr=1e-2)
    flow.sample(1000, g), flow.log_prob(x)

Use several couplings with alternating masks. A layer maps z to x by `forward` and back by `inverse`; each returns the
image, (n, d), and the log of the factor by which it stretches volume there, (n,): one number a point, as in
`torch.distributions`.
"""

from uqlib.flows._flow import NormalizingFlow
from uqlib.flows._layers import ActNorm, AffineCoupling, DiagonalGaussian

__all__ = ["ActNorm", "AffineCoupling", "DiagonalGaussian", "NormalizingFlow"]
