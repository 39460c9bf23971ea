"""`make test-matrix`: every notebook compared under other threads, kernels, weights, devices and torch releases.

Each leg is `make nbval` with something else in the environment. `python tests/matrix.py NAME ...` runs the legs whose
names contain one of the words given.
"""

import json
import os
import re
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import torch

ROOT = Path(__file__).parents[1]
BUILD = ROOT / "build" / "matrix"
RELEASE = os.environ.get("UQLIB_SECOND_TORCH", "2.14")
MOVED = {"PYTHONPATH": str(ROOT / "tests" / "at_start")}
LEGS = {
    "1 thread": {"OMP_NUM_THREADS": "1"},
    "2 threads": {"OMP_NUM_THREADS": "2"},
    "MKL_CBWR=COMPATIBLE": {"MKL_CBWR": "COMPATIBLE"},
    "ATEN_CPU_CAPABILITY=default": {"ATEN_CPU_CAPABILITY": "default"},
    "weights moved by 1e-10": MOVED | {"UQLIB_PERTURB": "1e-10"},
    "weights moved by 1e-8": MOVED | {"UQLIB_PERTURB": "1e-8"},
    # torch.func.hessian of 2.14 warns of a part of torch that it uses itself; the figures are what is compared
    f"torch {RELEASE}": {"PYTHONWARNINGS": "ignore:`torch.jit.script` is deprecated:FutureWarning"},
    # another order of sums on the card: the same allowance as in the workflow
    "cuda": {"UQLIB_DEVICE": "cuda", "UQLIB_NBVAL_LAST_DIGIT": "1"},
}


def main(words):
    chosen = [name for name in LEGS if not words or any(word in name for word in words)]
    if not chosen:
        print(f"no leg {', '.join(words)}; there are {', '.join(LEGS)}", file=sys.stderr)
        return 2
    BUILD.mkdir(parents=True, exist_ok=True)
    rows = []
    for name in chosen:
        start = time.perf_counter()
        state, told = leg(name)
        rows.append((name, state, f"{time.perf_counter() - start:.0f} s"))
        print(*rows[-1], told, sep="  ", flush=True)
    print(f"\n{'leg':<28} {'outcome':<10} seconds")
    for name, state, seconds in rows:
        print(f"{name:<28} {state:<10} {seconds.removesuffix(' s'):>7}")
    return int(any(state == "failed" for _, state, _ in rows))


def leg(name):
    """Run one; return passed, failed or left out, and what there is to say about it."""
    python, reason = sys.executable, ""
    if name == "cuda" and not torch.cuda.is_available():
        reason = f"no card is visible to torch {torch.__version__}"
    elif name.startswith("torch "):
        python, reason = second_release(ROOT / "build" / f"torch-{RELEASE}")
    return ("left out", reason) if reason else compare(name, python, LEGS[name])


def compare(name, python, variables):
    """Every notebook from a fresh kernel; the cells that differ are named, the differences are in build/matrix."""
    stem = re.sub(r"[^\w.-]+", "-", name)
    report, told = BUILD / f"{stem}.xml", BUILD / f"{stem}.log"
    report.unlink(missing_ok=True)
    threads = int(variables.get("OMP_NUM_THREADS", "1"))
    workers = max(1, min(2, (os.cpu_count() or 1) // threads))  # more threads than cores are ten times slower
    command = [python, "-m", "pytest", "-q", "--nbval", "--nbval-current-env", "--nbval-cell-timeout", "900"]
    command += ["-p", "no:cacheprovider", "-n", str(workers), "--dist", "loadscope", f"--junitxml={report}"]
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("UQLIB_", "PYTEST_", "MKL_", "ATEN_"))}
    paths = [variables.get("PYTHONPATH", ""), str(ROOT), os.environ.get("PYTHONPATH", "")]
    changed = variables | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
    with told.open("w") as log:
        code = subprocess.run(
            [*command, "notebooks"], cwd=ROOT, stdout=log, stderr=subprocess.STDOUT, check=False,
            env=clean | {"OMP_NUM_THREADS": "1", "TQDM_DISABLE": "1"} | changed,
        ).returncode  # fmt: skip
    count, cells = outcome(report)
    if code or not count:
        return "failed", f"{', '.join(cells) or 'nothing was compared'}: see {told.relative_to(ROOT)}"
    return "passed", f"{count} cells"


def outcome(report):
    """How many cells were compared, and those that failed as `notebook cell-id`."""
    if not report.exists():
        return 0, []
    cases = list(ElementTree.parse(report).iter("testcase"))
    failed = [case for case in cases if case.find("failure") is not None or case.find("error") is not None]
    return len(cases), [named(f"{case.get('classname')} {case.get('name')}") for case in failed]


def named(case):
    """nbval counts the code cells from 0; the notebook knows their ids."""
    found = re.search(r"(solutions\.)?(\d\d)_\w+.*?Cell (\d+)", case)
    if not found:
        return case
    folder = ROOT / "notebooks" / ("solutions" if found[1] else "")
    (path,) = folder.glob(f"{found[2]}_*.ipynb")
    cells = [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]
    return f"{path.relative_to(ROOT / 'notebooks').with_suffix('')} {cells[int(found[3])]['id']}"


def second_release(folder):
    """The Python of an environment that has another torch, or why there is none. A torch found there is kept."""
    python = str(folder / "bin" / "python")
    quiet = ["--quiet", "--disable-pip-version-check"]
    limits = folder / "constraints.txt"
    has_torch = [python, "-c", f"import torch; assert torch.__version__.startswith('{RELEASE}.')"]
    if not Path(python).exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    if subprocess.run(has_torch, capture_output=True, check=False).returncode:
        wanted, report = f"torch=={RELEASE}.*", folder / "report.json"
        asked = [python, "-m", "pip", "install", *quiet, "--dry-run", "--report", report, wanted]
        if subprocess.run(asked, capture_output=True, check=False).returncode:
            return "", f"pip finds no {wanted} for this Python"
        listed = [one["metadata"]["name"] for one in json.loads(report.read_text())["install"]]
        if gpu := [name for name in listed if name.startswith("nvidia-")]:
            where = folder.relative_to(ROOT)
            return "", f"{wanted} brings {len(gpu)} CUDA packages along; put it into {where} yourself for this leg"
        subprocess.run([python, "-m", "pip", "install", *quiet, wanted], check=True)
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    limits.write_text("\n".join(line for line in lines if not line.startswith("torch==")))
    rest = [python, "-m", "pip", "install", *quiet, "--constraint", str(limits), "--editable", f"{ROOT}[test]"]
    subprocess.run(rest, check=True)
    return python, ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
