"""What an exercise is, and how an answer to it is judged: right, a known mistake, or neither."""

import copy
import inspect
import math
import numbers
import random
import string
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import torch

Why = tuple[str, Callable[..., object]]


@dataclass(frozen=True)
class Exercise:
    """One exercise. Every function here takes, by name, the drawn `numbers` and what the notebook hands to `check`.

    right: the answer; None if many are right, namely all without a fault.
    hints: a nudge, the equation, the solution; `$right` and the names of `numbers` stand for their values.
    wrong: what is usually answered instead, each with what to say then.
    faults: tests of the answer, which they take as `answer`: true if it is wrong in this way. They come first.
    numbers: choices for each number of the text. The first one is in the text; students draw theirs. With numbers,
        `right` and `wrong` take nothing from the notebook.
    at: for an answer that is a function, the lists of arguments it is called with.
    tolerance: relative to the largest right value.
    praise: what a right answer is told, after "Right.".
    """

    hints: tuple[str, str, str]
    right: Callable[..., object] | None = None
    wrong: tuple[Why, ...] = ()
    faults: tuple[Why, ...] = ()
    numbers: Mapping[str, tuple[float | int, ...]] = field(default_factory=lambda: MappingProxyType({}))
    at: Callable[..., list[tuple[object, ...]]] | None = None
    tolerance: float = 0.01
    praise: str = ""


@dataclass(frozen=True)
class Verdict:
    """Whether an answer is right, and the line that says so or why not."""

    right: bool
    line: str


def drawn(exercise: Exercise, key: str, student: str) -> dict[str, float | int]:
    """The numbers of the text, or, for a named student, others for which right and wrong answers stay apart."""
    text = {name: choices[0] for name, choices in exercise.numbers.items()}
    if not student or exercise.right is None:
        return text
    source = random.Random(f"{student}/{key}")
    for _ in range(100):
        own = {name: source.choice(choices) for name, choices in exercise.numbers.items()}
        right = _called(exercise.right, own)
        wrong = [_called(wrong, own) for _, wrong in exercise.wrong]
        if own != text and all(abs(one - right) > 2 * exercise.tolerance * abs(right) for one in wrong):
            return own
    return text


def judge(exercise: Exercise, key: str, answer: object, given: Mapping[str, object], student: str = "") -> Verdict:
    """Compare an answer with the right one and with the usual wrong ones."""
    own = drawn(exercise, key, student)
    if _blank(exercise, answer, {**own, **given}):
        theirs = f" Your numbers: {', '.join(f'{name} = {value:g}' for name, value in own.items())}." if student else ""
        line = f'{key} not done yet: put your answer in place of `...`. Stuck? checks.hint("{key}")'
        return Verdict(False, line + (theirs if own else ""))
    try:
        return _judged(exercise, answer, {**own, **given})
    except _Unusable as trouble:
        return _not_yet(str(trouble))


def hinted(exercise: Exercise, key: str, rung: int, student: str = "") -> str:
    """The first, second or third hint, with this student's numbers in it."""
    own = drawn(exercise, key, student)
    facts: dict[str, object] = {name: f"{value:g}" for name, value in own.items()}
    if exercise.right is not None and "$right" in exercise.hints[rung - 1]:
        facts["right"] = f"{_called(exercise.right, own):.4g}"
    return string.Template(exercise.hints[rung - 1]).safe_substitute(facts)


class _Unusable(Exception):
    """An answer that cannot be compared; says what was expected and what arrived."""


def _called(function: Callable[..., object], facts: Mapping[str, object]) -> object:
    """Call a function with those of the facts that it names."""
    names = list(inspect.signature(function).parameters)
    missing = [name for name in names if name not in facts]
    if missing:
        raise TypeError(f"check: {', '.join(f'{name}=...' for name in missing)} is missing; hand it over by name")
    return function(**{name: facts[name] for name in names})


def _blank(exercise: Exercise, answer: object, facts: Mapping[str, object]) -> bool:
    """Whether the blank is still there, alone or as all that a function returns."""
    if answer is ... or exercise.at is None or not callable(answer):
        return answer is ...
    arguments = copy.deepcopy(_called(exercise.at, facts)[0])
    try:
        return answer(*arguments) is ...
    except Exception:  # it is judged, and told what is wrong, later
        return False


def _judged(exercise: Exercise, answer: object, facts: Mapping[str, object]) -> Verdict:
    found = _values(exercise, answer, facts, "your answer")
    right = None if exercise.right is None else _values(exercise, _called(exercise.right, facts), facts, "ours")
    if right is not None:
        for mine, wanted in zip(found, right, strict=True):
            if mine.shape != wanted.shape and not mine.numel() == wanted.numel() == 1:
                expected = f"shape {tuple(wanted.shape)}" if wanted.ndim else "one number"
                raise _Unusable(f"expected {expected}, got shape {tuple(mine.shape)}")
    for why, fault in exercise.faults:
        if _called(fault, {**facts, "answer": answer}):
            return _not_yet(why)
    if right is None or _near(found, right, exercise.tolerance):
        return Verdict(True, f"Right. {exercise.praise}".strip())
    for why, wrong in exercise.wrong:
        other = _values(exercise, _called(wrong, facts), facts, "ours")
        if [one.numel() for one in other] == [one.numel() for one in found] and _near(found, other, exercise.tolerance):
            return _not_yet(why)
    if _near(found, [-one for one in right], exercise.tolerance):
        return _not_yet("the size is right, the sign is not")
    if any(not torch.isfinite(one).all() for one in found):
        return _not_yet("inf or NaN came out")
    return _not_yet(f"{_shown(found)} is none of the usual answers")


def _not_yet(why: str) -> Verdict:
    return Verdict(False, f"Not yet: {why}{'' if why.endswith('?') else '.'}")


def _values(exercise: Exercise, answer: object, facts: Mapping[str, object], whose: str) -> list[torch.Tensor]:
    """The answer as float64 tensors on the CPU: itself, or what the function gives at each list of arguments."""
    if exercise.at is None:
        return [_number(answer, whose)]
    if not callable(answer):
        raise _Unusable(f"expected a function, got {_kind(answer)}: `lambda ...: ...`")
    values = []
    for arguments in _called(exercise.at, facts):
        try:
            values.append(_number(answer(*copy.deepcopy(arguments)), "what your function returns"))
        except _Unusable:
            raise
        except Exception as trouble:  # whatever the learner's line raises is the learner's to read
            said = f"{type(trouble).__name__}: {trouble}".splitlines()[0]
            raise _Unusable(f"your function raised {said}") from trouble
    return values


def _number(answer: object, whose: str) -> torch.Tensor:
    if isinstance(answer, torch.Tensor) and not answer.is_complex():
        return answer.detach().cpu().double()
    if isinstance(answer, numbers.Real) and not isinstance(answer, bool):
        return torch.tensor(float(answer), dtype=torch.float64)
    try:
        if isinstance(answer, bool | str) or answer is None or callable(answer):
            raise TypeError
        return torch.as_tensor(answer, dtype=torch.float64)
    except (TypeError, ValueError, RuntimeError):
        raise _Unusable(f"expected {whose} to be a number or a tensor, got {_kind(answer)}") from None


def _kind(answer: object) -> str:
    return "a function" if callable(answer) else "nothing" if answer is None else f"a {type(answer).__name__}"


def _near(found: list[torch.Tensor], wanted: list[torch.Tensor], tolerance: float) -> bool:
    scale = max(one.abs().max().item() for one in wanted)
    margin = tolerance * (scale or 1.0)
    pairs = zip(found, wanted, strict=True)
    return all(bool(((mine.flatten() - other.flatten()).abs() <= margin).all()) for mine, other in pairs)


def _shown(found: list[torch.Tensor]) -> str:
    if len(found) == 1 and found[0].numel() == 1 and math.isfinite(found[0].item()):
        return f"{found[0].item():.4g}"
    return "this"
