"""Files written whole or not at all, and columns read as numbers or refused by line."""

import math
import os
import tempfile
from pathlib import Path


def write(target: Path, content: bytes) -> None:
    """Write `content` to `target` in one step, making its folder; a killed run leaves the old file or none."""
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=".", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(name).chmod(0o644)
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def numbers(file: str, name: str, cells: list[str]) -> list[float]:
    """A column as numbers; the first cell that is none is named by its line in the file (line 1 is the header)."""
    column, numbers, missing = f"{file}: column {name!r}", [], []
    for line, cell in enumerate(cells, start=2):
        try:
            numbers.append(float(cell.strip() or "nan"))
        except ValueError:
            if cell.strip().lower() not in ("na", "n/a", "?", "null", "none"):
                raise ValueError(
                    f"{column} holds text, {cell!r} in line {line}; leave it out or code it as numbers"
                ) from None
            numbers.append(math.nan)
        if not math.isfinite(numbers[-1]):
            missing.append(line)
    if missing:
        cure = "drop those rows or fill them in"
        raise ValueError(f"{column} lacks {len(missing)} values, the first in line {missing[0]}; {cure}")
    if min(numbers) == max(numbers):
        raise ValueError(f"{column} is constant ({numbers[0]:g}); leave it out")
    return numbers
