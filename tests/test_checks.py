"""Self-checks: right answers pass, usual wrong ones are told which mistake it was, and nothing else happens."""

import ast
import importlib.util
import json
import re
from pathlib import Path

import pytest
import torch

from uqlib import checks
from uqlib.checks import _exercise, _progress

ROOT = Path(__file__).parents[1]
KEYS = [f"{path.stem[-2:]}_{k}" for path in sorted((ROOT / "uqlib/checks").glob("_[01][0-9].py")) for k in (1, 2, 3)]


def answers(key):
    """Right and wrong answers to an exercise, each worked out without the code of the check."""
    path = Path(__file__).parent / "answers" / f"answers_{key[:2]}.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.RIGHT[key], module.WRONG[key], module.GIVEN.get(key, dict)()


@pytest.fixture(autouse=True)
def nobody(monkeypatch, tmp_path):
    """No student, no grader, and a progress file of the test's own."""
    for name in ("UQLIB_STUDENT", "NBGRADER_EXECUTION", "UQLIB_STATIC"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("UQLIB_PROGRESS", str(tmp_path / "progress.json"))


@pytest.fixture(params=KEYS)
def key(request):
    return request.param


def judged(key, answer, given):
    return _exercise.judge(checks.find(key), key, answer, given)


@pytest.mark.bad_input
def test_right_answers_are_right(key):
    right, _, given = answers(key)
    assert right
    for answer in right:
        verdict = judged(key, answer, given)
        assert verdict.right and verdict.line.startswith("Right."), verdict


@pytest.mark.bad_input
def test_usual_mistakes_are_named(key):
    _, wrong, given = answers(key)
    known = [(answer, said) for answer, said in wrong if "none of" not in said]
    assert len(known) >= 3
    for answer, said in wrong:
        verdict = judged(key, answer, given)
        assert not verdict.right and verdict.line.startswith("Not yet: ") and said in verdict.line, (answer, verdict)
    assert len({judged(key, answer, given).line for answer, _ in known}) >= 3


def test_a_blank_is_no_mistake(key):
    _, _, given = answers(key)
    exercise = checks.find(key)
    blanks = [...] if exercise.at is None else [..., lambda *_: ...]
    for blank in blanks:
        assert judged(key, blank, given).line.startswith(f"{key} not done yet")


def test_every_student_gets_numbers_for_which_mistakes_can_be_told_apart(key):
    exercise = checks.find(key)
    if not exercise.numbers:
        return
    seen = set()
    for i in range(60):
        own = _exercise.drawn(exercise, key, f"student {i}")
        assert own == _exercise.drawn(exercise, key, f"student {i}")
        seen.add(tuple(own.items()))
        right = _exercise._called(exercise.right, own)
        assert _exercise.judge(exercise, key, right, {}, f"student {i}").right
        for why, wrong in exercise.wrong:
            verdict = _exercise.judge(exercise, key, _exercise._called(wrong, own), {}, f"student {i}")
            assert not verdict.right, (why, own)
    assert len(seen) >= 3
    assert _exercise.drawn(exercise, key, "") == {name: choices[0] for name, choices in exercise.numbers.items()}


def test_hints_climb_to_the_solution(key, capsys):
    exercise = checks.find(key)
    assert len(set(exercise.hints)) == 3 and all(len(hint) > 12 for hint in exercise.hints)
    for rung in (1, 2, 3):
        checks.hint(key, rung)
        assert "$" not in capsys.readouterr().out.replace("$x$", "")


def test_notebook_solution_and_check_belong_together(key):
    """The notebook asks with a blank and hands over what the solution does; no answer can be read in it."""
    (notebook,) = (ROOT / "notebooks").glob(f"{key[:2]}_*.ipynb")
    cells = {}
    for path in (notebook, notebook.parent / "solutions" / notebook.name):
        cells[path] = {cell["id"]: cell for cell in json.loads(path.read_text())["cells"]}
    asked, solved = ["".join(one[f"exercise-{key[-1]}"]["source"]) for one in cells.values()]
    last = asked.splitlines()[-1]
    assert last.startswith(f'checks.check("{key}", ') and solved.splitlines()[-1] == last
    assert asked.count("...") == 1 and "..." not in solved
    outputs = ["".join(one[f"exercise-{key[-1]}"]["outputs"][-1]["text"]) for one in cells.values()]
    assert outputs[0].splitlines()[-1].startswith(f"{key} not done yet")
    assert outputs[1].splitlines()[-1].startswith("Right.")
    assert len(solved.splitlines()) - len(asked.splitlines()) <= 4, "at most five lines for the learner to write"
    reason = "".join(cells[notebook.parent / "solutions" / notebook.name][f"solution-{key[-1]}"]["source"])
    assert reason.startswith(f"## {key[-1]} · ")
    assert 15 <= len(re.sub(r"\$.*?\$", "x", reason).split()) <= 90
    ast.parse(solved)


def test_a_check_prints_and_notes_progress(capsys):
    checks.check("03_1", -80)
    assert capsys.readouterr().out.splitlines() == [
        "Not yet: with respect to the log std, not the std.",
        'checks.hint("03_1") gives a nudge.',
    ]
    assert _progress.solved() == {}
    checks.check("03_1", -8.0)
    assert capsys.readouterr().out == "Right.\n" and set(_progress.solved()) == {"03_1"}
    assert _progress.forget() and _progress.solved() == {} and not _progress.forget()


def test_progress_that_cannot_be_kept_is_said_and_a_broken_file_is_no_trouble(monkeypatch, tmp_path, capsys):
    (tmp_path / "file").write_text("not json")
    monkeypatch.setenv("UQLIB_PROGRESS", str(tmp_path / "file"))
    assert _progress.solved() == {}
    monkeypatch.setenv("UQLIB_PROGRESS", str(tmp_path / "file" / "below"))
    checks.check("03_1", -8)
    right, trouble = capsys.readouterr().out.splitlines()
    assert right == "Right." and trouble.startswith("(Your progress could not be kept in ")


def test_nothing_is_noted_where_nobody_reads(monkeypatch):
    monkeypatch.setenv("UQLIB_STATIC", "1")
    checks.check("03_1", -8)
    assert _progress.solved() == {}


def test_a_grader_sees_a_wrong_answer_as_an_error(monkeypatch):
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    checks.check("03_1", -8)
    for answer in (8, ...):
        with pytest.raises(AssertionError, match=r"03_1 not done yet|sign"):
            checks.check("03_1", answer)


def test_a_student_is_told_the_numbers(monkeypatch, capsys):
    monkeypatch.setenv("UQLIB_STUDENT", "ada")
    checks.check("03_1", ...)
    told = capsys.readouterr().out
    std, residual = map(float, re.search(r"Your numbers: std = (\S+), residual = (\S+)\.\n$", told).groups())
    assert (std, residual) != (0.1, 0.3)
    checks.check("03_1", 1 - (residual / std) ** 2)
    checks.hint("03_1", 3)
    assert f"({residual:g} / {std:g})" in capsys.readouterr().out


@pytest.mark.bad_input
@pytest.mark.parametrize("answer", ["-8", None, True, 1j, {"a": 1}, print, [1, "x"]])
def test_what_is_no_number_is_said(answer, capsys):
    checks.check("03_1", answer)
    assert "expected your answer to be a number or a tensor, got" in capsys.readouterr().out


@pytest.mark.bad_input
def test_wrong_use_is_refused():
    for key in ("3_1", "03_4", "99_1", "03", 3, None):
        with pytest.raises(ValueError, match='expected a notebook and 1, 2 or 3, such as "03_1"'):
            checks.check(key, 1)
    for rung in (0, 4, "1"):
        with pytest.raises(ValueError, match="rung: expected 1"):
            checks.hint("03_1", rung)
    with pytest.raises(TypeError, match=r"check: x=\.\.\. is missing; hand it over by name"):
        checks.check("02_2", lambda x: x)


def test_answers_and_what_is_given_stay_as_they_are():
    x = torch.linspace(-1, 1, 5)[:, None]
    before = x.clone()
    checks.check("02_2", lambda x: x.mul_(2), x=x)
    assert torch.equal(x, before)
