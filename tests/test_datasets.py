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


ROWS = "".join(f"{i},{i * i % 17},{0.5 * i - 3}\n" for i in range(40))


def test_a_table_of_ones_own(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("\ufeffa, b ,y\n" + ROWS, encoding="utf-8")
    table = datasets.from_csv(path, target="y", inputs=["b"], unit="m")
    assert (table.name, table.inputs, table.target, table.unit) == ("mine", ("b",), "y", "m")
    assert table.x[:, 0].tolist() == [i * i % 17 for i in range(40)]
    assert table.y[:, 0].tolist() == [0.5 * i - 3 for i in range(40)]
    assert datasets.from_csv(str(path), target="y").x.shape == (40, 2)
    bundled = datasets.from_csv(ROOT / "data" / "concrete.csv", target="compressive_strength")
    assert torch.equal(bundled.x, datasets.load("concrete").x) and torch.equal(bundled.y, datasets.load("concrete").y)


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("a,y\n" + "1,2\n" * 29, {}, "at least 30 rows, got 29"),
        ("a,b,y\n" + ROWS, {"inputs": ["c"]}, "expected one column 'c', got 0 in \\['a', 'b', 'y'\\]"),
        ("a,a,y\n" + ROWS, {}, "expected one column 'a', got 2"),
        ("a,b,y\n" + ROWS, {"inputs": ["y"]}, "inputs other than the target"),
        ("a,b,y\n" + ROWS + "1,,3\n2,NA,3\n", {}, "column 'b' lacks 2 values, the first in line 42"),
        ("a,b,y\n" + ROWS + "1,nan,3\n", {}, "column 'b' lacks 1 values, the first in line 42"),
        ("a,b,y\n" + ROWS + "1,2\n", {}, "column 'y' lacks 1 values, the first in line 42"),
        ("a,b,y\n" + ROWS + "1,red,3\n", {}, "column 'b' holds text, 'red' in line 42"),
        ("a,b,y\n" + ROWS + "1,'2,5',3\n", {}, "column 'b' holds text, .* in line 42"),
        ("a,y\n" + "".join(f"1,{i}\n" for i in range(30)), {}, r"column 'a' is constant \(1\)"),
        ("a,b,y\n" + ROWS + "\n\n1,,3\n", {}, "column 'b' lacks 1 values, the first in line 44"),
        ("", {}, "a column has no name"),
        ("a;y\n" + ROWS, {}, "one column, 'a;y'; separate columns by commas"),
        (",b,y\n" + ROWS, {}, "a column has no name"),
    ],
)
def test_a_table_that_cannot_be_used_is_refused_in_one_line(tmp_path, text, options, message):
    path = tmp_path / "mine.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=message) as caught:
        datasets.from_csv(path, target="y", **options)
    assert "\n" not in str(caught.value)


@pytest.mark.bad_input
def test_inputs_as_a_string_are_refused(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("a,b,y\n" + ROWS)
    with pytest.raises(TypeError, match=r"write \['a'\]"):
        datasets.from_csv(path, target="y", inputs="a")


def test_a_file_in_another_encoding_is_refused(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_bytes("größe,y\n".encode("latin-1") + b"1,2\n" * 40)
    with pytest.raises(ValueError, match="save it as CSV in UTF-8"):
        datasets.from_csv(path, target="y")


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no file none\.csv"):
        datasets.from_csv(tmp_path / "none.csv", target="y")


def test_references_are_checked_like_tables(tmp_path, monkeypatch):
    stored = datasets.reference("calibration")
    assert len(stored["concrete"]["learnt"]) == len(stored["mcycle"]["heteroskedastic"]) == 20
    listed = dict(re.findall(r"([0-9a-f]{64})  (\w+)\.json", (ROOT / "data" / "README.md").read_text()))
    path = ROOT / "data" / "reference_calibration.json"
    files = (ROOT / "data").glob("reference_*.json")
    assert listed == {hashlib.sha256(file.read_bytes()).hexdigest(): file.stem for file in files}
    (tmp_path / path.name).write_text(path.read_text() + " ")
    monkeypatch.setattr(datasets, "_folder", lambda: tmp_path)
    with pytest.raises(ValueError, match="is changed"):
        datasets.reference("calibration")
