"""How stored outputs are compared: text and integers exactly, floats to a tolerance, and never an unexecuted cell.

UQLIB_NBVAL_LAST_DIGIT (default 0) is how many units of its last printed digit a float may be off. A relative
tolerance would not do: at three printed digits, one unit is between 0.1 % and 1 % of the number.
"""

import os
import re

import pytest
from nbval.plugin import IPyNbCell

FLOAT = re.compile(r"-?\d+\.\d+(?:e[+-]?\d+)?")
UNITS = float(os.environ.get("UQLIB_NBVAL_LAST_DIGIT", "0"))
os.environ["TQDM_DISABLE"] = "1"  # kernels inherit it: a progress bar never compares equal
os.environ["UQLIB_STATIC"] = "1"  # nor does a slider


def last_digit(number: str) -> float:
    """One unit of the last printed digit."""
    mantissa, _, exponent = number.partition("e")
    return 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))


def near(stored: str, computed: str) -> bool:
    """Whether the texts are equal but for floats that differ by at most the tolerance."""
    pairs = list(zip(FLOAT.findall(stored), FLOAT.findall(computed), strict=False))
    same_text = FLOAT.sub("#", stored) == FLOAT.sub("#", computed)
    return same_text and all(abs(float(a) - float(b)) <= UNITS * last_digit(a) * 1.0001 for a, b in pairs)


class Near(str):
    """Stored text that equals what is near it; nbval compares with != and prints the real text."""

    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        return str.__eq__(self, other) or (isinstance(other, str) and near(self, other))

    def __ne__(self, other: object) -> bool:
        return not self == other


if UNITS:
    exact = IPyNbCell.sanitize
    IPyNbCell.sanitize = lambda cell, text: Near(exact(cell, text)) if isinstance(text, str) else text


def pytest_runtest_setup(item: pytest.Item) -> None:
    """An unexecuted cell compares nothing, and a stored error would compare equal to the same error: both fail."""
    if not isinstance(item, IPyNbCell) or not item.cell.source.strip():
        return
    if item.cell.execution_count is None:
        pytest.fail(f"{item.name} was never executed: run `make refresh`", pytrace=False)
    if any(output.output_type == "error" for output in item.cell.outputs):
        pytest.fail(f"{item.name} holds a stored error: mend the cell, then run `make refresh`", pytrace=False)
