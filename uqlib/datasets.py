"""Toy problems whose truth is known, and the four bundled data sets."""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor

from uqlib import _checks, _files


@dataclass(frozen=True)
class Toy:
    r"""A one-dimensional problem with known truth: :math:`y = f(x) + a(x)\,\varepsilon`, the noise standard normal.

    `f(x)` is the true mean and `noise_std(x)` = :math:`|a(x)|` the true std, both (n, 1) to (n, 1), in units of y.
    """

    name: str
    f: Callable[[Tensor], Tensor]
    amplitude: Callable[[Tensor], Tensor]

    def noise_std(self, x: Float[Tensor, "n 1"]) -> Float[Tensor, "n 1"]:
        """The true std of y at x, never negative."""
        return self.amplitude(_checks.column("x", x)).abs()

    def observe(self, x: Float[Tensor, "n 1"], generator: torch.Generator) -> Float[Tensor, "n 1"]:
        """One noisy y for each x, drawn on the CPU from `generator`, on the device of x."""
        _checks.column("x", x)
        _checks.cpu_generator(generator)
        noise = torch.randn(x.shape, generator=generator, dtype=x.dtype, device="cpu").to(x.device)
        return self.f(x) + self.amplitude(x) * noise

    def training(
        self, n: int = 100, *, generator: torch.Generator, device: torch.device | str = "cpu"
    ) -> tuple[Float[Tensor, "n 1"], Float[Tensor, "n 1"]]:
        """The training set: n evenly spaced x on [-1, 1], and one y for each."""
        x = torch.linspace(-1, 1, _checks.count("n", n), device="cpu")[:, None].to(device)
        return x, self.observe(x, generator)

    def fresh(
        self, n: int = 4000, *, generator: torch.Generator, device: torch.device | str = "cpu"
    ) -> tuple[Float[Tensor, "n 1"], Float[Tensor, "n 1"]]:
        """New points from the same truth: n x uniform on [-1, 1], and one y for each."""
        _checks.cpu_generator(generator)
        x = (2 * torch.rand((_checks.count("n", n), 1), generator=generator, device="cpu") - 1).to(device)
        return x, self.observe(x, generator)


@dataclass(frozen=True, eq=False)
class Table:
    """A bundled data set in its original units: x (n, d), y (n, 1), the column names, and the units of y."""

    name: str
    x: Float[Tensor, "n d"]
    y: Float[Tensor, "n 1"]
    inputs: tuple[str, ...]
    target: str
    unit: str


def _cubic(x: Tensor) -> Tensor:
    return 0.5 * x**2 + 0.25 * x**3


_TOYS = {
    "homoskedastic": Toy("homoskedastic", _cubic, lambda x: torch.full_like(x, 0.2)),
    "heteroskedastic": Toy("heteroskedastic", _cubic, lambda x: 0.1 + 0.4 * x),
}

# file name: (sha256, target column, unit of the target); data/README.md has origins and licences
_TABLES = {
    "concrete": ("431e0b0b8bab99794c905cb45440a089c32c8f6d14bfd2602d1449727db92222", "compressive_strength", "MPa"),
    "engel": ("1ab6a5c4e884ef9ad624949d2b7e94652eccd75ba3905d1a46c85d28b153ec49", "foodexp", "Belgian francs"),
    "gagurine": ("fb763351fa39ef599893a61a5836fd7f6a2b2b36590539b388c0e2b0daa9627e", "GAG", "units of GAG"),
    "mcycle": ("fd0bf0038ec6adf64929f63576961bcdbb41db9e17e97f4be9d938b567f7de91", "accel", "g"),
}


# file name: sha256; what `make reference` computed once, since it takes minutes
_REFERENCES = {
    "calibration": "a4e89f98321cde0bcbc25abc3a4d747ad4e9d9ff36ff7b2298cb81fa61f73a4e",
    "posterior": "8a452e3835a9d9bb53c2d2abed61aa48157e4a60f3a40d84a95db12307802847",
}


def toy(name: str) -> Toy:
    r"""The toy problem `homoskedastic` or `heteroskedastic`, on [-1, 1], with

    .. math:: f(x) = 0.5\,x^2 + 0.25\,x^3, \qquad a(x) = 0.2 \quad\text{or}\quad a(x) = 0.1 + 0.4\,x .

    The second amplitude changes sign at x = -0.25, so the true std :math:`|a(x)|` is zero there. Raises ValueError for
    any other name, listing the two.
    """
    return _lookup(name, _TOYS)


def load(name: str, *, device: torch.device | str = "cpu") -> Table:
    """The bundled data set `mcycle`, `concrete`, `engel` or `gagurine`, in the default dtype.

    Rows and values are those of the file, whose sha256 is checked at each load. Raises ValueError for an unknown
    name (the known ones are listed) or a changed file, FileNotFoundError if the file is missing.
    """
    digest, target, unit = _lookup(name, _TABLES)
    _read(f"{name}.csv", digest)
    return from_csv(_folder() / f"{name}.csv", target=target, unit=unit, device=device)


def from_csv(
    path: str | Path,
    *,
    target: str,
    inputs: Sequence[str] | None = None,
    unit: str = "",
    device: torch.device | str = "cpu",
) -> Table:
    """A table of yours: a CSV file with a header row, its `target` column as y and the `inputs` columns as x.

    Without `inputs`, all other columns. Values must be numbers with a decimal point; at least 30 rows, no column
    constant. Raises FileNotFoundError, or ValueError in one line: a column that is not there (those that are get
    listed), a missing or text value (column, line and count), too few rows, a constant column, a file that is no
    CSV with commas in UTF-8. TypeError for inputs that are a string.
    """
    path = Path(path).expanduser()
    if not path.is_file():
        raise FileNotFoundError(f"no file {path.name} in {path.parent}: give the path of a CSV file")
    header, rows = _files.rows(path)
    if isinstance(inputs, str):
        raise TypeError(f"inputs: expected a list of column names, got the string {inputs!r}; write [{inputs!r}]")
    names = [name for name in header if name != target] if inputs is None else list(inputs)
    for name in [*names, target]:
        if header.count(name) != 1:
            raise ValueError(f"{path.name}: expected one column {name!r}, got {header.count(name)} in {header}")
    if target in names or not names:
        raise ValueError(f"{path.name}: expected inputs other than the target {target!r}, got {names}")
    if len(rows) < 30:
        raise ValueError(f"{path.name}: expected at least 30 rows, got {len(rows)}: too few to train, choose and test")
    columns = []
    for name in [*names, target]:
        place = header.index(name)
        cells = [(line, row[place] if place < len(row) else "") for line, row in rows]
        columns.append(_files.numbers(path.name, name, cells))
    values = torch.tensor(columns, dtype=torch.float64, device="cpu").T
    values = values.to(dtype=torch.get_default_dtype(), device=device).contiguous()
    return Table(path.stem, values[:, :-1], values[:, -1:], tuple(names), target, unit)


def reference(name: str) -> dict:
    """The results `calibration` or `posterior` of `make reference`, as nested dictionaries; data/README.md explains.

    Raises as `load`.
    """
    return json.loads(_read(f"reference_{name}.json", _lookup(name, _REFERENCES)))


def query_grid(x: Float[Tensor, "rows 1"], n: int = 301) -> Float[Tensor, "{n} 1"]:
    """n evenly spaced points over a range a quarter wider than that of x, (n, 1), for drawing a prediction."""
    _checks.column("x", x)
    low, high = x.min().item(), x.max().item()
    margin = high / 8 - low / 8
    _checks.finite("the range around x", torch.tensor([low - margin, high + margin], dtype=x.dtype, device="cpu"))
    return torch.linspace(low - margin, high + margin, _checks.count("n", n), dtype=x.dtype, device="cpu")[:, None].to(
        x.device
    )


def _lookup(name: str, known: dict):
    if not isinstance(name, str) or name not in known:
        raise ValueError(f"unknown name {name!r}: expected one of {', '.join(sorted(known))}")
    return known[name]


def _read(file: str, digest: str) -> str:
    """The text of a bundled file, if it is the one that the digest was taken of."""
    raw = (_folder() / file).read_bytes()
    found = hashlib.sha256(raw).hexdigest()
    if found != digest:
        raise ValueError(
            f"data/{file} is changed: sha256 {found[:12]}..., expected {digest[:12]}...; restore it: git checkout "
            f"data/{file}"
        )
    return raw.decode()


def _folder() -> Path:
    """The data of the checkout, or the copy that the wheel carries."""
    bundled = Path(__file__).parent / "_data"
    return bundled if bundled.is_dir() else Path(__file__).parents[1] / "data"
