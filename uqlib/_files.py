"""Files written whole or not at all; tables read from CSV, their columns as numbers or refused by line."""

import csv
import math
import os
import tempfile
from pathlib import Path


def write(target: Path, content: bytes) -> None:
    """Write `content` to `target` in one step, making its folder; a killed run leaves the old file or none.

    What is unfinished is named after its process, so that kit.leftovers can tell whether anybody still needs it.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{os.getpid()}-", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(name).chmod(0o644)
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def rows(path: Path) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """The header of a CSV file, and each row that is not blank with its line in the file."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file)
            header = [name.strip() for name in next(reader, [])]
            found = [(reader.line_num, row) for row in reader if row]
    except (UnicodeDecodeError, csv.Error):
        raise ValueError(f"{path.name}: cannot be read as text; save it as CSV in UTF-8") from None
    if len(header) == 1 and any(mark in header[0] for mark in ";\t"):
        raise ValueError(f"{path.name}: one column, {header[0]!r}; separate columns by commas, with a decimal point")
    if "" in (header or [""]):
        raise ValueError(f"{path.name}: a column has no name; name each in the first line, or leave it out")
    return header, found


def numbers(file: str, name: str, cells: list[tuple[int, str]]) -> list[float]:
    """A column as numbers from (line, cell) pairs; the first cell that is none is named by its line in the file."""
    column, numbers, missing = f"{file}: column {name!r}", [], []
    for line, cell in cells:
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
        raise ValueError(
            f"{column} lacks {len(missing)} values, the first in line {missing[0]}; drop those rows or fill them in"
        )
    if min(numbers) == max(numbers):
        raise ValueError(f"{column} is constant ({numbers[0]:g}); leave it out")
    return numbers
