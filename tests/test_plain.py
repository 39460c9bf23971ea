"""The code of a notebook run without a kernel: as fresh, as `__main__`, and what goes wrong told in one line."""

import json
import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

# Another process: `plain.run` changes the environment of the one that calls it.
JOB = """
import json, sys, time
from pathlib import Path
from uqlib.kit import kernel, plain
kernel.CELL_TIMEOUT = 20
if __name__ == "__main__":
    told, start = {}, time.perf_counter()
    for name in sys.argv[1:]:
        told[name] = plain.run(Path(name + ".ipynb").absolute(), {"UQLIB_FIGURE": name})
    print(json.dumps([told, time.perf_counter() - start]))
"""


def write(folder, name, *cells):
    code = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": []}
    content = {"cells": [code | {"id": f"c{k}", "source": [cell]} for k, cell in enumerate(cells)], "metadata": {}}
    (folder / f"{name}.ipynb").write_text(json.dumps(content | {"nbformat": 4, "nbformat_minor": 5}))
    return name


def run(folder, *names, job=JOB):
    (folder / "job.py").write_text(job)
    done = subprocess.run([sys.executable, "job.py", *names], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stderr == "", done
    return json.loads(done.stdout)


def test_code_is_the_main_module_of_a_process_of_its_own(tmp_path):
    """What a kernel allows is allowed; nothing of one notebook, printed or set, reaches the next or the terminal."""
    (tmp_path / "beside.py").write_text("number = 7\n")
    names = [
        write(
            tmp_path, "first",
            "import inspect, pickle\nfrom dataclasses import dataclass\nfrom typing import ClassVar",
            "@dataclass\nclass Pair:\n    left: int\n    many: 'ClassVar[int]' = 3",
            "assert pickle.loads(pickle.dumps(Pair(2))) == Pair(2)",
            "def double(x):\n    return 2 * x\n",
            "assert inspect.getsource(double) == 'def double(x):\\n    return 2 * x\\n'",
            "import beside\nassert beside.number == 7",
        ),
        write(
            tmp_path, "second",
            "import os, sys, matplotlib, torch\nprint('loud'); os.write(1, b'louder'); os.system('echo loudest')",
            "assert os.environ['UQLIB_FIGURE'] == 'second' and 'LEFT' not in os.environ",
            "torch.set_default_dtype(torch.float64)\nmatplotlib.rcParams['lines.linewidth'] = 9",
            "os.environ['LEFT'] = '1'\ntorch.manual_seed(5)",
        ),
        write(
            tmp_path, "third",
            "import os, matplotlib, torch\nassert torch.get_default_dtype() == torch.float32",
            "assert 'LEFT' not in os.environ",
            "assert matplotlib.rcParams['lines.linewidth'] < 9 and 'beside' not in globals()",
            "assert torch.initial_seed() != 5 and os.environ['UQLIB_FIGURE'] == 'third'",
        ),
    ]  # fmt: skip
    told, _ = run(tmp_path, *names)
    assert told == dict.fromkeys(names, "")


def test_what_goes_wrong_is_told_in_one_line(tmp_path):
    names = [
        write(tmp_path, "hangs", "import subprocess\nsubprocess.run(['sleep', '77.123'])"),
        write(tmp_path, "leaves", "import os, time\nif os.fork():\n    os._exit(3)\ntime.sleep(60)"),
        write(tmp_path, "exits", "x = 1", "import sys\nsys.exit('bye')"),
        write(tmp_path, "fails", "raise ValueError('one\\ntwo')"),
    ]
    told, seconds = run(tmp_path, *names, job=JOB.replace("= 20", "= 6"))
    assert told == {
        "hangs": "FAILED: a cell took more than 6 s",
        "leaves": "FAILED: its process ended with exit code 3",
        "exits": "FAILED in cell 1 (c1): SystemExit: bye",
        "fails": "FAILED in cell 0 (c0): ValueError: one",
    }
    assert seconds < 60
    left = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert "sleep 77.123" not in left


def test_a_figure_has_the_same_bytes_as_from_a_kernel(tmp_path):
    source = (
        "import torch\nfrom uqlib import figures, plotting\nx = torch.linspace(0, 1, 5)[:, None]\n"
        "figures.show('00-x', lambda ax: (plotting.data(ax, x, x), ax.set(xlabel='$x$')), alt='A.')"
    )
    write(tmp_path, "drawn", source)
    job = (
        "from pathlib import Path\nfrom uqlib.kit import kernel, plain\n"
        "if __name__ == '__main__':\n    path = Path('drawn.ipynb').absolute()\n"
        "    told = [plain.run(path, {'UQLIB_FIGURES': str(Path('plain').absolute())})]\n"
        "    told.append(kernel.execute(path, {'UQLIB_FIGURES': str(Path('kernel').absolute())})[1])\n"
        "    import json\n    print(json.dumps(told))\n"
    )
    assert run(tmp_path, job=job) == ["", ""]
    files = sorted(path.relative_to(tmp_path / "plain") for path in (tmp_path / "plain").glob("*/*"))
    assert len(files) == 6
    for name in files:
        assert (tmp_path / "plain" / name).read_bytes() == (tmp_path / "kernel" / name).read_bytes(), name
