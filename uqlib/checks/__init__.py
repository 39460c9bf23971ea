"""Self-checks for the exercises: right, or WHY an answer is wrong; hints in three rungs; progress kept on this machine.

In a notebook: `checks.check("03_1", slope)`, and `checks.hint("03_1")` when stuck. The numbers of an exercise can be
drawn anew for each student: set the environment variable UQLIB_STUDENT to a name before Jupyter starts.
"""

import importlib.util
import os
import re

from uqlib.checks import _exercise, _progress
from uqlib.checks._exercise import Exercise

__all__ = ["check", "find", "hint"]

_RUNGS = {1: "A nudge", 2: "The equation", 3: "The solution"}


def check(key: str, answer: object, **given: object) -> None:
    """Print whether `answer` is right for the exercise `key`, such as "03_1", or which mistake was made.

    `given` is what the exercise needs from the notebook: a net, a posterior, data. Nothing of it is changed. A right
    answer is noted in the progress file (`python -m uqlib progress`). While nbgrader grades (NBGRADER_EXECUTION is
    set), an answer that is not right raises AssertionError, so that it gets no points.
    Raises ValueError for an unknown exercise, TypeError if something is missing in `given`.
    """
    exercise = find(key)
    verdict = _exercise.judge(exercise, key, answer, given, _student())
    if os.environ.get("NBGRADER_EXECUTION") and not verdict.right:
        raise AssertionError(verdict.line)
    print(verdict.line)
    if verdict.right:
        _progress.note(key)
    elif verdict.line.startswith("Not yet"):
        print(f'checks.hint("{key}") gives a nudge.')


def hint(key: str, rung: int = 1) -> None:
    """Print a hint for the exercise `key`: 1 a nudge, 2 the equation, 3 the solution.

    Raises ValueError for an unknown exercise or rung.
    """
    exercise = find(key)
    if rung not in _RUNGS:
        raise ValueError(f"rung: expected 1 (a nudge), 2 (the equation) or 3 (the solution), got {rung!r}")
    print(f"{_RUNGS[rung]}: {_exercise.hinted(exercise, key, rung, _student())}")
    if rung < len(_RUNGS):
        print(f'checks.hint("{key}", {rung + 1}) gives {_RUNGS[rung + 1].lower()}.')


def find(key: str) -> Exercise:
    """The exercise `key`. Raises ValueError unless it is the number of a notebook and of one of its exercises."""
    if isinstance(key, str) and re.fullmatch(r"\d\d_[123]", key):
        name = f"uqlib.checks._{key[:2]}"
        if importlib.util.find_spec(name):
            return importlib.import_module(name).EXERCISES[key]
    raise ValueError(f'exercise: expected a notebook and 1, 2 or 3, such as "03_1", got {key!r}')


def _student() -> str:
    return os.environ.get("UQLIB_STUDENT", "").strip()
