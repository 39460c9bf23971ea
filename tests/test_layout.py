"""The measuring of figures finds what it is there to find."""

import sys
from pathlib import Path

import pytest
import torch

from uqlib import Predictive, figures, plotting

sys.path.insert(0, str(Path(__file__).parent / "at_start"))
from measured import faults

sys.path.pop(0)
X = torch.linspace(-1, 1, 9, dtype=torch.float64)[:, None]


def found(draw, **layout):
    return faults(figures.build(draw, **layout), figures.style(**layout))


def test_a_good_figure_has_no_fault():
    def draw(ax):
        plotting.data(ax, X, X)
        plotting.truth(ax, X, X)
        plotting.end_label(ax, 1.0, 1.0, "truth")
        ax.set(xlabel="$x$", ylabel="$y$", title="a title")
        ax.tick_params(axis="x", labelrotation=40)

    assert found(draw) == found(draw, medium="4:3") == []


@pytest.mark.parametrize(
    ("fault", "draw"),
    [
        ("'small' is 7 pt", lambda ax: ax.text(0.5, 0.5, "small", fontsize=7)),
        ("'name' is 9 pt, at least 10", lambda ax: ax.set_xlabel("name", fontsize=9)),
        ("'outside' leaves the figure", lambda ax: ax.figure.text(0.97, 0.5, "outside")),
        ("overlap", lambda ax: [ax.text(0.5, 0.5 + 0.01 * i, f"words {i}") for i in range(2)]),
        ("overlap", lambda ax: [ax.text(0.5, 0.5 + 0.01 * i, f"words {i}", rotation=30) for i in range(2)]),
        ("mean-0-", lambda ax: (plotting.mean(ax, X, Predictive(X, 1.0)), ax.set_ylim(-0.5, 2))),
    ],
)
def test_each_fault_is_found(fault, draw):
    (one, *_) = found(draw)
    assert fault in one


def test_slanted_texts_side_by_side_are_no_fault():
    """Their upright boxes overlap, their letters do not."""

    def draw(ax):
        ax.text(0.3, 0.5, "a long slanted word", rotation=45)
        ax.text(0.4, 0.5, "a long slanted word", rotation=45)

    assert found(draw) == []
