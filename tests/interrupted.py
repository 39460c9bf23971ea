"""`make test-interrupted`: commands killed at random moments, two at once, and run where they cannot write or connect.

It works in a clone below a temporary folder, so what is not committed is not tried. `python tests/interrupted.py
run twice` runs only the parts named. Linux only; what needs root (mounts, a machine without a network) is left out
without it. Only processes that it started are killed.
"""

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
ENDS = {
    ".pdf": b"%%EOF",
    ".svg": b"</svg>",
    ".png": b"IEND\xaeB`\x82",
    ".gif": b";",
    ".html": b"</html>",
    ".tex": rb"\end{document}",
}
MADE = (
    "notebooks",
    "figures",
    "dist",
    "build/notebooks",
    "build/html",
    "build/figures",
    "build/slides",
    "build/student",
)
KILLS, SOME = 20, 5
MARK = f"UQLIB_INTERRUPTED={os.getpid()}"
ALONE = ["unshare", "--mount", "sh", "-c"]


class Course:
    """A clone, and how commands are run in it."""

    def __init__(self, folder):
        self.root = Path(folder) / "course"
        subprocess.run(["git", "clone", "--quiet", ROOT, self.root], check=True)
        self.refreshed = self.root / "notebooks" / "00_reading_a_prediction.ipynb"
        paths = os.pathsep.join(filter(None, [str(self.root), os.environ.get("PYTHONPATH", "")]))
        name, value = MARK.split("=")
        self.world = os.environ | {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1", "TQDM_DISABLE": "1", name: value}

    def command(self, *arguments):
        return [sys.executable, "-m", "uqlib", *arguments]

    def start(self, command):
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        return subprocess.Popen(command, cwd=self.root, env=self.world, start_new_session=True, **pipes)

    def finish(self, command):
        process = self.start(command)
        out, error = process.communicate(timeout=1500)
        return process.returncode, out, error

    def completes(self, *arguments):
        code, out, error = self.finish(self.command(*arguments))
        assert code == 0, (arguments, out, error)

    def killed(self, arguments, seconds):
        """Kill a command with its whole group, and see that its kernels, which have groups of their own, end too."""
        process = self.start(self.command(*arguments))
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        end = time.monotonic() + 30
        while living := started_here():
            assert time.monotonic() < end, f"still running half a minute after the kill: {living}"
            time.sleep(0.2)

    def older(self, arguments):
        """Undo what the command makes, so that there is something to write."""
        if arguments[0] == "refresh":
            notebook = json.loads(self.refreshed.read_text())
            for cell in notebook["cells"]:
                cell |= {"outputs": [], "execution_count": None} if cell["cell_type"] == "code" else {}
            self.refreshed.write_text(json.dumps(notebook))
        for path in [
            *self.root.glob("figures/.made-*"),
            *self.root.glob("build/html/*"),
            *self.root.glob("build/*/*.ipynb"),
        ]:
            path.unlink() if path.is_file() else None

    def whole(self, refreshing=False):
        """Every file is whole, and git sees no change but the one that was made on purpose."""
        for path in (path for place in MADE for path in (self.root / place).rglob("*.*") if path.is_file()):
            assert path.suffix == ".part" or is_whole(path, self.root), f"half-written: {path}"
        changed = subprocess.run(
            ["git", "status", "--porcelain"], cwd=self.root, capture_output=True, text=True, check=True
        ).stdout
        allowed = f" M notebooks/{self.refreshed.name}\n" if refreshing else ""
        assert changed in ("", allowed), changed

    def swept(self):
        left = [*self.root.rglob(".*.part"), *self.root.glob("build/figures-part/*")]
        assert not left, f"left behind: {left}"


def started_here():
    """Processes that carry our mark, such as kernels and workers."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if MARK.encode() in (folder / "environ").read_bytes().split(b"\0") and int(folder.name) != os.getpid():
                found.append((folder.name, (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()))
        except OSError:
            continue
    return found


def is_whole(path, root):
    content = path.read_bytes()
    if path.suffix == ".ipynb":
        name = path.relative_to(path.parents[1] if path.parent.name == "solutions" else path.parent)
        stored = json.loads((root / "notebooks" / name).read_text())
        handed_out = "student" in path.parts  # its cells are not all
        return handed_out or len(json.loads(content)["cells"]) == len(stored["cells"])
    if path.suffix == ".json":
        return bool(json.loads(content))
    if path.suffix == ".zip":
        return zipfile.ZipFile(path).testzip() is None
    if path.parent.name == "animations":  # a page without a closing tag, as matplotlib writes it
        return content.rstrip().endswith(b"</script>")
    return content.rstrip().endswith(ENDS.get(path.suffix, b""))


def try_kills(course, arguments, count):
    """Killed `count` times within the time that it takes; each fifth time it is then run to its end."""
    start = time.monotonic()
    course.completes(*arguments)
    lasts = time.monotonic() - start
    chance, refreshing = random.Random(" ".join(arguments)), arguments[0] == "refresh"
    unfinished = 0
    for turn in range(1, count + 1):
        course.older(arguments)
        course.killed(arguments, chance.uniform(0, 1.1 * lasts))
        unfinished += len(list(course.root.rglob(".*.part")))
        if arguments[0] != "site":  # Sphinx's pages are whole after the next run
            course.whole(refreshing)
        if turn % 5 == 0 or turn == count:
            course.completes(*arguments)
            course.whole()
            course.swept()
    for page in course.root.glob("build/site/**/*.html"):
        own = "_static" not in page.parts  # the theme keeps templates there, which are no pages
        assert not own or is_whole(page, course.root), f"half-written: {page}"
    return f"{' '.join(arguments)}: {count} kills within {lasts:.0f} s, {unfinished} unfinished files seen and swept"


def kills(*arguments):
    def tried(course):
        yield try_kills(course, arguments, KILLS)

    return tried


def others(course):
    for arguments in (("slides",), ("student",), ("animations",), ("site",)):
        yield try_kills(course, arguments, SOME)


def everything(course):
    for arguments in (("run",), ("figures",)):
        yield try_kills(course, arguments, SOME)


def writes(course):
    """Large files, so that kills hit the writing itself."""
    target = course.root / "build" / "html" / "large.json"
    code = "import pathlib, sys; from uqlib import _files\nwhile True:\n"
    code += "    for word in (b'1', b'2'): _files.write(pathlib.Path(sys.argv[1]), b'[' + word * 30_000_000 + b']')"
    chance, hit = random.Random(0), 0
    for _ in range(KILLS):
        process = course.start([sys.executable, "-c", code, str(target)])
        time.sleep(1 + chance.random())
        process.kill()
        process.communicate()
        hit += len(list(target.parent.glob(".*.part")))
        content = target.read_bytes() if target.exists() else b"[]"
        assert content in (b"[]", *(b"[" + word * 30_000_000 + b"]" for word in (b"1", b"2"))), "half-written"
    assert hit, "no kill hit a file being written: this proves nothing"
    target.unlink(missing_ok=True)
    course.completes("slides", "00")
    course.swept()
    yield f"writing 30 MB: {KILLS} kills, unfinished files seen {hit} times, all swept by the next command"


def twice(course):
    for arguments in (("run", "00"), ("figures", "00"), ("refresh", "00"), ("slides",), ("student",), ("site",)):
        course.older(arguments)
        both = [course.start(course.command(*arguments)) for _ in range(2)]
        for process in both:
            out, error = process.communicate(timeout=900)
            assert process.returncode == 0, (arguments, out, error)
        course.whole()
        course.swept()
        yield f"{' '.join(arguments)}: two at once ended well"


def read_only(course):
    here = f"mount --bind {course.root} {course.root} && mount -o remount,ro,bind {course.root}"
    for arguments in REFUSED:
        code, out, error = course.finish([*ALONE, f'{here} && exec "$@"', "sh", *course.command(*arguments)])
        assert (code, out) == (1, "") and error.count("\n") == 1 and error.startswith("cannot write"), (
            arguments,
            error,
        )
    yield f"{', '.join(' '.join(one) for one in REFUSED)}: {error.strip()}"
    for arguments in (("list",), ("progress",), ("doctor",), ("execute", "00")):
        code, out, error = course.finish([*ALONE, f'{here} && exec "$@"', "sh", *course.command(*arguments)])
        assert code == 0, (arguments, out, error)
        yield f"{' '.join(arguments)}: works read-only"


REFUSED = [("run", "00"), ("refresh", "00"), ("figures", "00"), ("slides",), ("site",), ("animations",)]
REFUSED += [("release",), ("student",), ("instructor",)]


def full_disk(course):
    """A disk of a few hundred kB, which fills while the command writes: one line a notebook, or one line."""
    for place in ("build", "figures/animations", "dist", "full"):
        (course.root / place).mkdir(parents=True, exist_ok=True)
    refresh = "cp -r notebooks build/kept && mount -t tmpfs -o size=20m full notebooks && cp -r build/kept/. notebooks"
    cases = [(("run", "00"), "build", ""), (("slides",), "build", ""), (("site",), "build", "")]
    cases += [(("student",), "build", ""), (("animations",), "figures/animations", ""), (("release",), "dist", "")]
    cases += [(("figures", "00", "--out", "full"), "full", ""), (("refresh", "00"), "notebooks", refresh)]
    for arguments, place, prepare in cases:
        course.older(arguments)
        prepare = prepare or f"mount -t tmpfs -o size=300k full {place}"
        fill = "head -c 20m /dev/zero > notebooks/filler 2>/dev/null; " if arguments[0] == "refresh" else ""
        after = f'code=$?; find {place} -name ".*.part" -mmin -1 | grep . && exit 99; exit $code'
        script = f'{prepare} && {{ {fill}"$@"; {after}; }}'
        code, out, error = course.finish([*ALONE, script, "sh", *course.command(*arguments)])
        assert code == 1 and "No space left" in out + error and "Traceback" not in error, (arguments, code, out, error)
        yield f"{' '.join(arguments)}: {next(one for one in (out + error).splitlines() if 'No space' in one)}"
    subprocess.run(["git", "checkout", "--quiet", "."], cwd=course.root, check=True)
    course.completes("run", "00")
    course.whole()


def offline(course):
    """No interface but the loopback, as on a machine without a network."""
    cut = ["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
    nbval = [sys.executable, "-m", "pytest", "-q", "--nbval", "--nbval-current-env", course.refreshed]
    lab = r"""timeout 60 "$0" -m jupyterlab notebooks --no-browser --allow-root --port 8899 >lab.log 2>&1 & sleep 30
grep -m 1 'http://127.0.0.1:8899/lab?token=' lab.log; code=$?; kill $!; rm -f lab.log; exit $code"""
    commands = [course.command(*one) for one in (("run", "00"), ("figures", "00"), ("refresh", "00"), ("slides",))]
    commands += [course.command("animations"), course.command("site"), nbval, ["sh", "-c", lab, sys.executable]]
    for command in commands:
        course.older(command[3:4] or ["none"])
        code, out, error = course.finish([*cut, *command])
        assert code == 0, (command, out, error)
        yield f"{' '.join(map(str, command[2:5])).splitlines()[0][:50]}: works without a network"
    course.whole()


PARTS = {"writes": writes} | {name: kills(name, "00") for name in ("run", "figures", "refresh")}
PARTS |= {"twice": twice, "read-only": read_only, "full": full_disk}
PARTS |= {"offline": offline, "others": others, "everything": everything}


def main(words):
    if unknown := [word for word in words if word not in PARTS]:
        print(f"no part {', '.join(unknown)}; there are {', '.join(PARTS)}", file=sys.stderr)
        return 2
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        for name in words or PARTS:
            if name in ("read-only", "full", "offline") and os.getuid():
                print(f"{name:<10} left out: mounts and networks of one's own need root")
                continue
            course = Course(tempfile.mkdtemp(dir=folder))
            try:
                for line in PARTS[name](course):
                    print(f"{name:<10} {line}", flush=True)
            except (AssertionError, subprocess.TimeoutExpired) as trouble:
                failed.append(name)
                print(f"{name:<10} FAILED {trouble}", flush=True)
    print(f"{len(failed)} failed: {', '.join(failed)}" if failed else "Nothing half-written, nothing left behind.")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
