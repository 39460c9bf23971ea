"""Copies to hand out: nothing of the answers in one, all of them in the other, and each works where it lies."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from uqlib.kit import handouts

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("[0-9][0-9]_*.ipynb"))
COPIED = ("notebooks", "uqlib", "data", "Makefile", "pyproject.toml", "constraints.txt", "environment.yml", "LICENSE")


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A checkout of its own: a command writes below its build folder."""
    root = tmp_path_factory.mktemp("course")
    for name in (*COPIED, "CITATION.cff"):
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__", ".*"))
        else:
            shutil.copy2(ROOT / name, root / name)
    return root


def cells(path):
    return {cell["id"]: cell for cell in json.loads(path.read_text())["cells"]}


def source(cell):
    return "".join(cell["source"])


@pytest.mark.slow
def test_students_get_no_outputs_and_no_solutions(course):
    student, live = handouts.student(course)
    assert (student.name, live.name) == ("student", "live")
    for original in NOTEBOOKS:
        before, after = cells(original), cells(student / "notebooks" / original.name)
        assert list(after) == [name for name in before if name != "solutions"]
        for name, cell in after.items():
            assert source(cell) == source(before[name])
            if cell["cell_type"] == "code":
                assert cell["outputs"] == [] and cell["execution_count"] is None
    for target in (student, live):
        assert not list(target.rglob("solutions")) and not list(target.rglob("*.part"))
        assert not [path for path in (target / "notebooks").iterdir() if "solutions/" in path.read_text()]
        assert {path.name for path in target.iterdir()} >= set(COPIED)


@pytest.mark.slow
def test_a_copy_works_where_it_lies(course, tmp_path):
    """Its own package, its own data, its first notebook."""
    student, _ = handouts.student(course)
    there = tmp_path / "elsewhere"
    shutil.copytree(student, there)
    world = os.environ | {"PYTHONPATH": str(there), "PYTHONDONTWRITEBYTECODE": "1"}
    told = "import uqlib; from uqlib import datasets; print(uqlib.__file__, len(datasets.load('mcycle').x))"
    run = [sys.executable, "-c", told]
    done = subprocess.run(run, cwd=there, env=world, capture_output=True, text=True, check=True)
    assert done.stdout == f"{there / 'uqlib' / '__init__.py'} 133\n"
    run = [sys.executable, "-m", "uqlib", "execute", "00"]
    done = subprocess.run(run, cwd=there, env=world, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and re.fullmatch(r"00  Reading a prediction +\d+\.\d s  ok\n", done.stdout), done


@pytest.mark.slow
def test_live_copies_lack_the_lines_that_the_notebook_is_about(course):
    _, live = handouts.student(course)
    for original in NOTEBOOKS:
        before, after = cells(original), cells(live / "notebooks" / original.name)
        changed = {name for name, cell in after.items() if source(cell) != source(before[name])}
        tagged = {name for name, cell in before.items() if "slide-lines" in cell["metadata"].get("tags", [])}
        assert changed == {name for name in tagged if before[name]["cell_type"] == "code"} != set()
        for name in changed:
            assert re.search(r"(?m)^ *\.\.\.  # Live: [1-6] lines?$", source(after[name])), name
            ast.parse(source(after[name]))


@pytest.mark.slow
def test_an_instructor_gets_everything_with_nbgrader_metadata(course):
    (target,) = handouts.instructor(course)
    for original in NOTEBOOKS:
        before, after = cells(original), cells(target / "notebooks" / original.name)
        solved = cells(original.parent / "solutions" / original.name)
        names = set()
        for k in "123":
            answer, check = after[f"exercise-{k}"], after[f"exercise-{k}-check"]
            begin, end = (source(answer).splitlines().index(f"### {word} SOLUTION") for word in ("BEGIN", "END"))
            assert end > begin + 1 and "..." not in source(answer)
            assert source(answer).splitlines()[-1] == "### END SOLUTION"
            marked = [line for line in source(answer).splitlines() if not line.startswith("###")]
            wanted = source(solved[f"exercise-{k}"]).splitlines()
            assert [line for line in marked if line] == [line for line in wanted[:-1] if line]
            assert source(check) == wanted[-1] and "".join(check["outputs"][-1]["text"]).startswith("Right.")
            graded = check["metadata"]["nbgrader"]
            assert graded["grade"] and graded["locked"] and graded["points"] == 1 and not graded["solution"]
            assert answer["metadata"]["nbgrader"]["solution"] and not answer["metadata"]["nbgrader"]["grade"]
            names |= {graded["grade_id"], answer["metadata"]["nbgrader"]["grade_id"]}
            reason = after[f"solution-{k}"]
            assert source(reason) == source(solved[f"solution-{k}"])
            names.add(reason["metadata"]["nbgrader"]["grade_id"])
            assert reason["metadata"]["nbgrader"]["solution"] and reason["metadata"]["nbgrader"]["points"] == 0
        assert len(names) == 9
        kept = [name for name in before if name != "solutions" and not name.startswith("exercise-")]
        assert all(after[name] == before[name] for name in kept)


def test_a_missing_solution_is_named(tmp_path):
    (tmp_path / "notebooks").mkdir()
    shutil.copy2(NOTEBOOKS[3], tmp_path / "notebooks")
    with pytest.raises(
        ValueError, match=r"03_heteroskedastic_nets\.ipynb: expected its solutions in notebooks/solutions"
    ):
        handouts.instructor(tmp_path)
