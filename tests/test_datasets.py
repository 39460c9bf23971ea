"""Toy problems against their formulas, tables against numpy and the published checksums."""

import hashlib
import re
from pathlib import Path

import numpy
import pytest
import torch

from uqlib import datasets, runtime

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("name", ["homoskedastic", "heteroskedastic"])
def test_toy_is_the_formula(name):
    x, y = datasets.toy(name).training(n=100, generator=runtime.seed(7))
    eps = torch.randn(100, 1, generator=runtime.seed(7))
    truth = 0.5 * x.square() + 0.25 * x**3
    amplitude = 0.2 if name == "homoskedastic" else 0.1 + 0.4 * x
    torch.testing.assert_close(x, torch.linspace(-1, 1, 100)[:, None])
    torch.testing.assert_close(y, truth + amplitude * eps)
    torch.testing.assert_close(datasets.toy(name).f(x), truth)


def test_true_std_is_never_negative():
    x = torch.tensor([[-1.0], [-0.25], [0.0], [1.0]])
    expected = torch.tensor([[0.3], [0.0], [0.1], [0.5]])
    torch.testing.assert_close(datasets.toy("heteroskedastic").noise_std(x), expected, rtol=0, atol=1e-15)
    torch.testing.assert_close(datasets.toy("homoskedastic").noise_std(x), torch.full((4, 1), 0.2))


def test_fresh_points_have_the_stated_law():
    toy = datasets.toy("heteroskedastic")
    x, y = toy.fresh(n=100_000, generator=runtime.seed(1))
    assert x.min() >= -1
    assert x.max() <= 1
    assert abs(x.mean()) < 4 / (3 * 100_000) ** 0.5
    z = ((y - toy.f(x)) / toy.noise_std(x))[toy.noise_std(x) > 1e-6]
    assert abs(z.std() - 1) < 4 / (2 * 100_000) ** 0.5


@pytest.mark.parametrize(
    ("name", "rows", "inputs", "target"),
    [("mcycle", 133, 1, "accel"), ("concrete", 1030, 8, "compressive_strength"), ("gagurine", 314, 1, "GAG"),
     ("engel", 235, 1, "foodexp")],
)  # fmt: skip
def test_tables(name, rows, inputs, target):
    table = datasets.load(name)
    raw = numpy.genfromtxt(ROOT / "data" / f"{name}.csv", delimiter=",", names=True)
    assert table.x.shape == (rows, inputs)
    assert table.y.shape == (rows, 1)
    assert table.target == target
    numpy.testing.assert_array_equal(table.y[:, 0].numpy(), raw[target])
    for column, heading in enumerate(table.inputs):
        numpy.testing.assert_array_equal(table.x[:, column].numpy(), raw[heading])


def test_checksums_are_those_of_the_readme():
    listed = dict(re.findall(r"([0-9a-f]{64})  (\w+)\.csv", (ROOT / "data" / "README.md").read_text()))
    files = {hashlib.sha256(path.read_bytes()).hexdigest(): path.stem for path in (ROOT / "data").glob("*.csv")}
    assert listed == files


def test_a_changed_file_is_refused(monkeypatch, tmp_path):
    (tmp_path / "mcycle.csv").write_text((ROOT / "data" / "mcycle.csv").read_text().replace("2.4", "2.5", 1))
    with monkeypatch.context() as patch:
        patch.setattr(datasets, "_folder", lambda: tmp_path)
        with pytest.raises(ValueError, match=r"data/mcycle.csv is changed: sha256 .*restore it"):
            datasets.load("mcycle")


def test_query_grid_is_a_quarter_wider():
    grid = datasets.query_grid(torch.tensor([[1.0], [-1.0], [0.0]]), n=11)
    assert grid.shape == (11, 1)
    assert grid.min() == -1.25
    assert grid.max() == 1.25


@pytest.mark.bad_input
def test_refuses():
    cases = [
        (lambda: datasets.toy("cubic"), ValueError, "unknown name 'cubic': expected one of heteroskedastic, homosk"),
        (lambda: datasets.load("boston"), ValueError, "expected one of concrete, engel, gagurine, mcycle"),
        (lambda: datasets.toy("homoskedastic").training(n=0, generator=runtime.seed(0)), ValueError, "n: expected"),
        (lambda: datasets.query_grid(torch.zeros(3)), ValueError, r"x: expected shape \(n, k\), got \(3,\)"),
        (lambda: datasets.query_grid(torch.zeros(3, 2)), ValueError, r"x: expected shape \(n, 1\)"),
    ]
    for call, error, words in cases:
        with pytest.raises(error, match=words):
            call()
