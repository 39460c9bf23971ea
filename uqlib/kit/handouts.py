"""Copies of the course to hand out: for students, for live coding, and for whoever grades by nbgrader."""

import contextlib
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from uqlib import _files
from uqlib.kit import kernel, leftovers, tagged

# What a working copy needs: `make lab` in it sets itself up.
_NEEDED = (
    "uqlib",
    "data",
    "Makefile",
    "pyproject.toml",
    "constraints.txt",
    "environment.yml",
    "LICENSE",
    "CITATION.cff",
)
_README = """# Uncertainty in neural networks: your copy

The notebooks, without outputs. `make lab` sets up an environment here and opens them; start at 00.
Each ends with three exercises: replace `...` and run the cell. `checks.hint("00_1")` helps when you are stuck.
`.venv/bin/python -m uqlib progress` shows what you have solved, `.venv/bin/python -m uqlib doctor` what is wrong.
{more}
Code: MIT, text: CC BY 4.0, see LICENSE.
"""
_LIVE = "The lines that each notebook is about are left blank: look for `# Live`, and type them.\n"


def student(root: Path) -> list[Path]:
    """Write build/student, the series without outputs and solutions, and build/live, whose title lines are blank, too.

    Both are working copies: `make lab` runs in them. What was there before is replaced.
    """
    made = []
    for name, change in (("student", _asked), ("live", _blank)):
        target = root / "build" / name
        with _made(target) as part:
            for path in kernel.stored(root / "notebooks"):
                notebook = json.loads(path.read_text(encoding="utf-8"))
                notebook["cells"] = [one for cell in notebook["cells"] if (one := _emptied(change(cell)))]
                _write(part / "notebooks" / path.name, notebook)
            for item in (root / needed for needed in _NEEDED):
                if item.is_dir():
                    shutil.copytree(item, part / item.name, ignore=shutil.ignore_patterns("__pycache__", ".*"))
                elif item.exists():
                    shutil.copy2(item, part / item.name)
            _files.write(part / "README.md", _README.format(more=_LIVE if name == "live" else "").encode())
        made.append(target)
    return made


def instructor(root: Path) -> list[Path]:
    """Write build/instructor: the series with outputs, each exercise solved and explained, with nbgrader's metadata.

    An exercise becomes a cell with the solution, which nbgrader blanks for students, and a cell with the check, worth
    one point. Raises ValueError if a notebook has no solutions.
    """
    target = root / "build" / "instructor"
    with _made(target) as part:
        for path in kernel.stored(root / "notebooks"):
            solved = path.parent / "solutions" / path.name
            if not solved.exists():
                raise ValueError(f"{path.name}: expected its solutions in notebooks/solutions, found none")
            answers = {cell["id"]: cell for cell in json.loads(solved.read_text(encoding="utf-8"))["cells"]}
            notebook = json.loads(path.read_text(encoding="utf-8"))
            notebook["cells"] = [one for cell in notebook["cells"] for one in _graded(cell, answers, path.name[:2])]
            _write(part / "notebooks" / path.name, notebook)
        shutil.copytree(root / "data", part / "data", ignore=shutil.ignore_patterns("__pycache__", ".*"))
    return [target]


def _asked(cell: dict) -> dict | None:
    """The cell as students get it: all but the link to the solutions."""
    return None if cell["id"] == "solutions" else cell


def _blank(cell: dict) -> dict | None:
    """The cell with the lines of the title's code left out, a comment in their place."""
    if cell["cell_type"] != "code" or "slide-lines" not in cell["metadata"].get("tags", []):
        return _asked(cell)
    lines = tagged.source(cell).splitlines()
    ends = cell["metadata"].get("slide", {}).get("lines") or [1, len(lines)]
    for first, last in reversed(list(zip(ends[::2], ends[1::2], strict=True))):
        count = sum(bool(line.strip()) for line in lines[first - 1 : last])
        margin = lines[first - 1][: len(lines[first - 1]) - len(lines[first - 1].lstrip())]
        lines[first - 1 : last] = [f"{margin}...  # Live: {count} line{'s' if count > 1 else ''}"]
    return cell | {"source": "\n".join(lines).splitlines(keepends=True)}


def _emptied(cell: dict | None) -> dict | None:
    if cell is None or cell["cell_type"] != "code":
        return cell
    return cell | {"outputs": [], "execution_count": None}


def _graded(cell: dict, answers: dict[str, dict], number: str) -> list[dict]:
    """An exercise as reason, solution and check; any other cell as it is."""
    if not (cell["cell_type"] == "code" and cell["id"].startswith("exercise-")):
        return [] if cell["id"] == "solutions" else [cell]
    answer = answers[cell["id"]]
    *lines, check = tagged.source(answer).splitlines()
    asked = tagged.source(cell).splitlines()
    given = [line for line in asked[: next(i for i, line in enumerate(asked) if "..." in line)] if line in lines]
    solution = [line for line in "\n".join(lines).rstrip().splitlines() if line not in given]
    marked = [*given, "### BEGIN SOLUTION", *solution, "### END SOLUTION"]
    name = f"{number}-{cell['id']}"
    reason = answers[cell["id"].replace("exercise", "solution")]
    return [
        _code(cell, cell["id"], marked, [], _nbgrader(name, solution=True)),
        _code(cell, f"{cell['id']}-check", [check], answer["outputs"], _nbgrader(f"{name}-check", points=1)),
        # a written answer without points: nbgrader leaves it blank for students and shows ours to the grader
        reason | {"metadata": {"nbgrader": _nbgrader(f"{name}-why", solution=True, points=0)}},
    ]


def _code(cell: dict, name: str, lines: list[str], outputs: list[dict], metadata: dict) -> dict:
    source = "\n".join(lines).splitlines(keepends=True)
    metadata = cell["metadata"] | {"nbgrader": metadata}
    return cell | {"id": name, "source": source, "outputs": outputs, "metadata": metadata}


def _nbgrader(name: str, *, solution: bool = False, points: int | None = None) -> dict:
    """The third version of nbgrader's schema: an autograded answer, its tests, or with both an answer in words."""
    facts = {"grade_id": name, "solution": solution, "grade": points is not None, "locked": not solution, "task": False}
    return facts | {"schema_version": 3} | ({} if points is None else {"points": points})


def _write(target: Path, notebook: dict) -> None:
    _files.write(target, (json.dumps(notebook, indent=1, ensure_ascii=False) + "\n").encode())


@contextlib.contextmanager
def _made(target: Path) -> Iterator[Path]:
    """A folder to fill, put in the place of an older one when it is finished: the target is never half there.

    Two runs at once take turns, and what a killed run left is swept by the next command.
    """
    part, old = (target.with_name(f".{os.getpid()}-{target.name}{mark}.part") for mark in ("", "-old"))
    try:
        yield part
        with leftovers.alone(target.with_name("copies.lock")):
            if target.exists():
                target.rename(old)
            part.rename(target)
    finally:
        for folder in (part, old):
            shutil.rmtree(folder, ignore_errors=True)
