"""Tests for the tests: change one expression of a module at a time and see whether a test notices.

    python tests/mutants.py losses                      # a module; a package (laplace) is all its files
    python tests/mutants.py laplace/_factor.py:25       # one line of a file
    python tests/mutants.py training --tests training   # only the tests of tests/test_training.py

What no test notices is printed as a survivor: it wants a better test, or it is no change at all (README.md here lists
those). Nothing is changed on disk. The tests are collected once, in a copy of the repository; each mutant lives in a
fork of that warm process, where its compiled code takes the place of the old, and runs the tests that pass through the
changed line until one fails. Needs fork, hence Linux or macOS; takes about a second for each mutant.
"""

import argparse
import collections
import contextlib
import gc
import json
import os
import select
import shutil
import signal
import sys
import tempfile
import time
import types
from pathlib import Path

import pytest
from mutations import mutants

ROOT = Path(__file__).resolve().parents[1]
TESTS = "losses metrics predictive laplace flows training models reported_faults compare reference"
TESTS += " properties defaults edges"
SECONDS = (
    8  # of tests for one mutant, the quickest and those that found most first; a survivor may fall to a slower one
)


def graft(code, olds, module):
    """Put the code's functions, their defaults and the module's constants in place of those that everybody holds."""
    new = {"__name__": module.__name__, "__file__": module.__file__, "__package__": module.__package__}
    exec(code, new)
    codes, rest = {}, [code]
    while rest:
        one = rest.pop()
        codes[one.co_qualname, one.co_firstlineno] = one
        rest += [inner for inner in one.co_consts if isinstance(inner, types.CodeType)]
    for function in olds:
        function.__code__ = codes[function.__code__.co_qualname, function.__code__.co_firstlineno]
    for name, value in new.items():
        if getattr(value, "__module__", None) == module.__name__:
            graft_defaults(value, getattr(module, name))
        elif not name.startswith("__"):
            setattr(module, name, value)


def graft_defaults(new, old):
    """The defaults of a function's arguments, or of those of a class's methods."""
    if isinstance(new, type):
        for name, value in vars(new).items():
            graft_defaults(value, vars(old)[name])
    elif isinstance(new, types.FunctionType):
        old.__defaults__, old.__kwdefaults__ = new.__defaults__, new.__kwdefaults__


def in_fork(work, seconds):
    """What `work` says in a fork of this process: its answer, or that it took too long or broke down."""
    answer, told = os.pipe()
    child = os.fork()
    if child == 0:
        os.setsid()  # so that what it starts can be ended with it
        gc.freeze()  # what is there stays shared with the parent
        try:
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, 1), os.dup2(null, 2)
            os.write(told, work(lambda text: (os.write(told, text.encode()), os._exit(0))).encode())
        except BaseException as error:
            os.write(told, f"broke: {error!r}"[:500].encode())
        finally:
            os._exit(0)
    os.close(told)
    ready, _, _ = select.select([answer], [], [], seconds)
    text = os.read(answer, 4096).decode() if ready else "too long"
    os.close(answer)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return text or "crash"


class Mutate:
    """A plugin in place of pytest's loop over the tests."""

    def __init__(self, root, targets):
        self.root, self.targets, self.failed = root, targets, lambda test: None

    def pytest_runtest_logreport(self, report):
        if report.failed:
            self.failed(report.nodeid)

    def pytest_runtestloop(self, session):
        self.tests = {item.nodeid: item for item in session.items}
        gc.collect()
        started = time.time()
        note = self.root / "passed.json"
        in_fork(lambda tell: note.write_text(json.dumps(self.watch())) and "done", 3600)
        self.seconds, lines = json.loads(note.read_text())
        self.through = collections.defaultdict(set)  # file and line: tests that pass there; line 0: anywhere in it
        for test, passed in lines.items():
            for file, line in passed:
                self.through[file, line].add(test)
                self.through[file, 0].add(test)
        print(f"{len(lines)} tests pass in {time.time() - started:.0f} s", file=sys.__stdout__, flush=True)
        for path, line in self.targets:
            self.mutate(path, line)
        return True

    def run(self, test):
        self.tests[test].ihook.pytest_runtest_protocol(item=self.tests[test], nextitem=None)

    def watch(self):
        """The time of each test that passes, and the lines that it passes through."""
        seconds, lines, failed = {}, {}, []
        self.failed = failed.append
        files = {str(path): str(path) for path, _ in self.targets}
        for test in self.tests:
            here = lines[test] = set()

            def each_line(frame, event, argument, here=here):
                here.add((files[frame.f_code.co_filename], frame.f_lineno))
                return each_line

            sys.settrace(lambda frame, *_, f=each_line: f if frame.f_code.co_filename in files else None)
            started = time.process_time()
            self.run(test)
            seconds[test] = time.process_time() - started
            sys.settrace(None)
        return seconds, {test: sorted(passed) for test, passed in lines.items() if test not in failed}

    def mutate(self, path, line):
        module = sys.modules[".".join(path.relative_to(self.root).with_suffix("").parts)]
        own = [f for f in gc.get_objects() if type(f) is types.FunctionType and f.__code__.co_filename == str(path)]
        results, kills = collections.Counter(), collections.Counter()
        for code, words, lines, inside in mutants(path, line):
            tests = set().union(*(self.through[str(path), one] for one in (lines if inside else [0])))
            chosen, total = [], 0.0
            for test in sorted(tests, key=lambda test: self.seconds[test] / (1 + kills[test])):
                total += self.seconds[test]
                if total < SECONDS or not chosen:
                    chosen.append(test)

            def judge(tell, code=code, chosen=chosen):
                self.failed = tell
                try:
                    graft(code, own, module)
                except Exception:
                    return "at import"
                for test in chosen:
                    self.run(test)
                return "survived"

            answer = in_fork(judge, 40 + 8 * total)
            kills[answer] += 1
            results["survived" if answer == "survived" else "killed"] += 1
            if answer == "survived" or answer.startswith("broke"):
                print(f"{words}  ({answer}; {len(chosen)} tests)", file=sys.__stdout__, flush=True)
        name, made = path.relative_to(self.root / "uqlib"), results.total()
        print(f"== {name}: {results['killed']} of {made} killed", file=sys.__stdout__, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules", nargs="+", help="module, package, or file:line below uqlib/")
    parser.add_argument("--tests", nargs="+", default=TESTS.split(), help="training is tests/test_training.py")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve() / "course"
        left = shutil.ignore_patterns(".*", "build", "dist", "__pycache__", "figures")
        shutil.copytree(ROOT, root, ignore=left)
        targets = []
        for name in asked.modules:
            file, _, line = name.partition(":")
            path = root / "uqlib" / file.removesuffix(".py")
            paths = sorted(path.glob("_[a-z]*.py")) if path.is_dir() else [path.with_suffix(".py")]
            targets += [(one, int(line) if line else None) for one in paths]
        os.chdir(root)
        sys.path.insert(0, str(root))
        os.environ |= {"PYTHONPATH": str(root), "OMP_NUM_THREADS": "1"}
        tests = [f"tests/test_{name}.py" for name in asked.tests]
        options = ["-q", "-m", "not slow", "-p", "no:cacheprovider", "-p", "no:xdist", "--capture=sys"]
        return pytest.main([*options, *tests], plugins=[Mutate(root, targets)])


if __name__ == "__main__":
    sys.exit(main())
