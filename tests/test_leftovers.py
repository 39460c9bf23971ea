"""Interrupted, refused, or two at once: nothing half-written stays, and one line says what to do.

`make test-interrupted` does the same with whole commands, real kills and a real full disk.
"""

import contextlib
import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from uqlib import _files, commands
from uqlib.kit import kernel, leftovers, site


@pytest.fixture
def dead():
    """The number of a process that has ended."""
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    return ended.pid


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="only Linux says so in a file")
def test_a_process_that_nobody_has_asked_about_is_dead():
    ended = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
    os.kill(ended.pid, 0)  # its number is still taken
    assert not leftovers.alive(f".{ended.pid}-x.part")
    ended.wait()
    assert leftovers.alive(f".{os.getpid()}-x.part")


def test_a_tree_that_could_not_be_copied_is_told_in_one_line():
    trouble = leftovers.shutil.Error([("a", "b", "[Errno 28] No space left on device: 'b'"), ("c", "d", "other")])
    assert leftovers.told(trouble) == "cannot copy: [Errno 28] No space left on device: 'b'"


@pytest.fixture
def course(tmp_path, monkeypatch):
    """A checkout of one notebook, which counts how often it is run."""
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "notebooks" / "00_first.ipynb").write_text('{"cells": [{"source": ["# 00 · First"]}]}')
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(kernel, "each", lambda *arguments: pytest.fail("a notebook was run"))
    return tmp_path


def test_only_what_is_unfinished_and_nobodys_is_swept(tmp_path, dead):
    living = os.getpid()
    places = ("notebooks/solutions", "figures/dark")
    files = [f"{place}/.{pid}-x.part" for pid in (dead, living, "old") for place in places]
    files += [f"build/html/.{pid}-x.part" for pid in (dead, living)]
    files += [f"build/.{pid}-student.part/README.md" for pid in (dead, living)]
    files += [f"build/figures-part/{pid}-x/light/a.pdf" for pid in (dead, living)]
    files += ["notebooks/00_first.ipynb", "build/student/.1-mine.part/kept", f"elsewhere/.{dead}-x.part"]
    for name in files:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    leftovers.sweep(tmp_path)
    left = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    assert left == {name for name in files if f"{dead}-" not in name and ".old-" not in name} | {files[-1]}
    leftovers.sweep(tmp_path, tmp_path / "elsewhere")
    assert not (tmp_path / files[-1]).exists()


class Full:
    """A file on a full disk: it opens, and takes nothing."""

    def __init__(self, handle, mode):
        self.handle = handle

    def __enter__(self):
        return self

    def __exit__(self, *trouble):
        os.close(self.handle)

    def write(self, content):
        raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    target = tmp_path / "00.ipynb"
    target.write_bytes(b"old")
    monkeypatch.setattr(os, "fdopen", Full)
    with pytest.raises(OSError, match="No space left"):
        _files.write(target, b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["00.ipynb"]
    assert target.read_bytes() == b"old"


@pytest.mark.parametrize("command", sorted(commands._PLACES.keys() - {"figures"}))
def test_a_full_disk_is_told_before_anything_is_run(course, command, monkeypatch, capsys):
    monkeypatch.setattr(os, "fdopen", Full)
    assert commands.main([command]) == 1
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err == "No space left on device: free some of it, then run this again; what was finished is kept\n"
    assert {path.name for path in course.rglob("*")} == {"notebooks", "00_first.ipynb"}


def test_a_read_only_checkout_is_told_before_anything_is_run(course, monkeypatch, capsys):
    def refuse(dir, prefix, suffix):
        raise OSError(errno.EROFS, "Read-only file system", f"{dir}/{prefix}x{suffix}")

    monkeypatch.setattr(leftovers.tempfile, "mkstemp", refuse)
    assert commands.main(["refresh", "00"]) == 1
    error = capsys.readouterr().err
    cure = "run this in a copy of the course that is yours"
    assert error == f"cannot write in {course / 'notebooks'}: Read-only file system; {cure}\n"


def test_a_disk_that_fills_on_the_way_is_told_in_the_notebooks_line(monkeypatch, capsys, tmp_path):
    path = tmp_path / "00_first.ipynb"
    path.write_text('{"cells": [{"source": ["# 00 · First"]}]}')
    assert kernel.each(_fills, [path]) == ["00"]
    assert "nan s  No space left on device: free some of it" in capsys.readouterr().out


def _fills(path):
    raise OSError(errno.ENOSPC, "No space left on device")


def _names_itself(path):
    path.with_suffix(".pid").write_text(str(os.getpid()))
    time.sleep(60)
    return 0.0, ""


def test_the_workers_of_a_killed_run_end(tmp_path):
    """Only the command itself is killed, as by somebody who saw its number in a list."""
    path = tmp_path / "00_first.ipynb"
    path.write_text('{"cells": [{"source": ["# 00 · First"]}]}')
    code = f"import sys; sys.path.insert(0, {os.path.dirname(__file__)!r}); import test_leftovers as t, pathlib\n"  # noqa: PTH120
    code += f"t.kernel.each(t._names_itself, [pathlib.Path({str(path)!r})])"
    run = subprocess.Popen([sys.executable, "-c", code])
    try:
        worker = int(eventually(lambda: path.with_suffix(".pid").exists() and path.with_suffix(".pid").read_text()))
    finally:
        run.send_signal(signal.SIGKILL)
        run.wait()
    eventually(lambda: not leftovers.alive(f".{worker}-"), 20)


def eventually(told, seconds=60):
    """What `told` returns as soon as that is true."""
    end = time.monotonic() + seconds
    while not (found := told()):
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)
    return found


@pytest.mark.parametrize("words", ["Kernel died before replying to kernel_info", "Kernel didn't respond in 60 seconds"])
@pytest.mark.parametrize(("deaths", "fine"), [(0, True), (2, True), (3, False)])
def test_a_kernel_whose_port_was_taken_is_started_again(deaths, fine, words):
    """As for two runs at once: it dies, or hangs, before any cell is run."""

    class Client:
        km, calls = "dead", 0

        def execute(self):
            assert self.calls == 0 or self.km is None, "the dead kernel would be asked again"
            self.calls, self.km = self.calls + 1, "dead"
            if self.calls <= deaths:
                raise RuntimeError(words)

    client = Client()
    with contextlib.nullcontext() if fine else pytest.raises(RuntimeError, match="Kernel di"):
        kernel._execute(client)
    assert client.calls == min(deaths + 1, 3)


def test_another_runtime_error_is_not_tried_again():
    class Client:
        calls = 0

        def execute(self):
            self.calls += 1
            raise RuntimeError("something else")

    client = Client()
    with pytest.raises(RuntimeError, match="something else"):
        kernel._execute(client)
    assert client.calls == 1


HOLD = """
import pathlib, sys, time
from uqlib.kit import leftovers
with leftovers.alone(pathlib.Path(sys.argv[1])) as finished:
    print(finished, flush=True)
    sys.stdin.readline()
"""


def test_two_at_once_take_turns_and_a_killed_one_is_remembered(tmp_path):
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    start = lambda: subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path / "lock")], **pipes)  # noqa: E731
    first = start()
    assert first.stdout.readline() == "True\n"
    second = start()
    assert second.stderr.readline() == "Another run is making this; waiting until it has ended.\n"
    assert second.poll() is None
    first.kill()
    assert second.stdout.readline() == "False\n"
    assert second.communicate("\n")[1] == ""
    third = start()
    assert third.communicate("\n")[0] == "True\n"
    first.communicate()


@pytest.mark.parametrize("interrupted", [False, True])
def test_a_site_that_was_interrupted_is_built_from_the_start(tmp_path, monkeypatch, interrupted):
    """Sphinx takes half a page for a whole one if it is newer than its source."""
    import sphinx.application

    class Sphinx:
        statuscode = 0

        def __init__(self, **options):
            self.page = options["outdir"] / "index.html"

        def build(self):
            found.append(self.page.exists())
            self.page.parent.mkdir(exist_ok=True)
            self.page.write_text("<html>")
            if interrupted and len(found) == 1:
                raise KeyboardInterrupt

    found = []
    monkeypatch.setattr(site, "prepare", lambda root, source: None)
    monkeypatch.setattr(sphinx.application, "Sphinx", Sphinx)
    for _ in range(2):
        try:
            site.build(tmp_path, tmp_path / "build")
        except KeyboardInterrupt:
            continue
    assert found == [False, not interrupted]
