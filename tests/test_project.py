"""The project holds together: imports go downwards, modules stay small, the dependency files agree."""

import ast
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PATHS = {
    path.relative_to(ROOT / "uqlib").with_suffix("").as_posix().replace("/", "."): path
    for path in (ROOT / "uqlib").rglob("*.py")
}
MODULES = {name: ast.parse(path.read_text()) for name, path in PATHS.items()}

# Each module may import those named before it, and no other.
LAYERS = [
    {"_checks", "kit.leftovers"},
    {"_columns", "_files", "_overlays", "_styles", "runtime", "kit.__init__", "kit.kernel"}
    | {"kit.words", "kit.code", "kit.plan"},
    {"_exports", "kit.gallery", "predictive", "datasets", "losses", "_optimise", "pages", "kit.tagged", "kit.plain"},
    {"_members", "models", "plotting", "figures", "laplace._arguments", "laplace._factor", "kit.frames"},
    {"laplace._statistics", "flows._layers", "metrics", "training", "kit.beamer", "kit.decks", "kit._chapters"},
    {"laplace._posterior", "flows._flow", "kit.slides"},
    {"laplace._fitting", "flows.__init__"},
    {"laplace._evidence", "laplace._heads"},
    {"laplace.__init__", "kit.factory", "kit.release", "kit._play"} | {"kit.doctor", "kit.handouts"},
    {"kit.animations", "kit.sliders", "kit._fillers", "checks._exercise", "checks._progress"},
    {name for name in MODULES if re.fullmatch(r"checks\._\d\d", name)},
    {"checks.__init__"},
    {"kit.site"},
    {"_making"},
    {"commands"},
    {"__main__"},
]


def imported(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "uqlib":
            _, _, inner = node.module.partition(".")
            inside = [f"{inner}.{name.name}".lstrip(".") for name in node.names]
            names = inside if (set(inside) | {f"{name}.__init__" for name in inside}) & set(MODULES) else [inner]
            yield from (name if name in MODULES else f"{name}.__init__" for name in names)


def test_imports_go_downwards():
    level = {name: depth for depth, names in enumerate(LAYERS) for name in names}
    assert level.keys() == MODULES.keys() - {"__init__"}
    for name in level:
        for other in imported(MODULES[name]):
            assert level[other] < level[name], f"{name} imports {other}"


def lines_of_code(tree):
    """Lines without docstrings, comments and blanks."""
    docstrings = 0
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        first = body[0] if isinstance(body, list) and body else None
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
            first.value.value, docstrings = "", docstrings + 1
    return sum(bool(line.strip()) for line in ast.unparse(tree).splitlines()) - docstrings


COMMAND_LINE = ("commands", "_making", "__main__", "pages", "_overlays", "_exports")  # with kit: what its commands use


def test_modules_stay_small():
    lines = {name: lines_of_code(ast.parse(path.read_text())) for name, path in PATHS.items()}
    assert max(lines.values()) <= 150, lines
    assert max(len(path.read_text().splitlines()) for path in PATHS.values()) < 200
    core = {name: n for name, n in lines.items() if name not in COMMAND_LINE and name[:4] not in ("kit.", "chec")}
    assert sum(core.values()) < 1700, core


def test_import_changes_nothing_and_loads_no_pyplot():
    code = """
import random, os, sys, torch, numpy, matplotlib
before = (torch.get_default_dtype(), torch.get_num_threads(), torch.get_rng_state().tolist(),
          matplotlib.rcParams.copy(), numpy.random.get_state()[1].tolist(), random.getstate(),
          dict(os.environ), torch.is_grad_enabled())
import uqlib
from uqlib import Predictive, datasets, figures, flows, laplace, losses, metrics, models, plotting, predictive, runtime
from uqlib import training
after = (torch.get_default_dtype(), torch.get_num_threads(), torch.get_rng_state().tolist(),
          matplotlib.rcParams.copy(), numpy.random.get_state()[1].tolist(), random.getstate(),
          dict(os.environ), torch.is_grad_enabled())
assert before == after
assert "matplotlib.pyplot" not in sys.modules and "torch._dynamo" not in sys.modules
assert set(dir(uqlib)) >= {"Predictive", "losses"} and uqlib.Predictive is Predictive
"""
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


def requirements(lines):
    return {re.split(r"[<>=!~]", line, maxsplit=1)[0]: re.sub(r"^[\w.-]+", "", line) for line in lines}


def test_environment_yml_agrees_with_pyproject():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = [line for lines in project["optional-dependencies"].values() for line in lines]
    wanted = requirements(project["dependencies"] + extras)
    text = (ROOT / "environment.yml").read_text()
    listed = requirements(re.findall(r"^ +- ([\w.-]+[<>=][^\s]*)$", text, flags=re.MULTILINE))
    names = {"pytorch": "torch", "matplotlib-base": "matplotlib", "seaborn-base": "seaborn"}
    listed = {names.get(name, name): bounds for name, bounds in listed.items()}
    assert listed.pop("python") == project["requires-python"]
    assert listed == wanted


def test_constraints_pin_every_direct_dependency_within_its_range():
    from packaging.requirements import Requirement

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = [line for lines in project["optional-dependencies"].values() for line in lines]
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = dict(line.split("==") for line in lines if line and not line.startswith("#"))
    for requirement in map(Requirement, project["dependencies"] + extras):
        assert requirement.specifier.contains(pins[requirement.name]), requirement
    assert pins["torch"] == "2.13.0"
    assert not any("torchvision" in line or "torchaudio" in line for line in lines if not line.startswith("#"))


def test_every_make_target_in_the_readme_exists():
    readme, makefile = (ROOT / "README.md").read_text(), (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z-]+):", makefile, flags=re.MULTILINE))
    named = set(re.findall(r"make ([a-z]+)(?= |`|\n)", re.sub(r"[A-Z_]+=\S*", "", readme)))
    assert {"notebooks", "test"} <= named & targets
    assert named - {"it", "of", "is"} <= targets, named - targets


def test_readme_lists_every_notebook():
    readme = (ROOT / "README.md").read_text()
    for path in (ROOT / "notebooks").glob("[0-9][0-9]_*.ipynb"):
        title = "".join(json.loads(path.read_text())["cells"][0]["source"]).splitlines()[0].split("· ")[1]
        assert f"[{title}](notebooks/{path.name})" in readme


PAGES = ("README.md", "CONTRIBUTING.md", "data/README.md")


def test_links_between_files_resolve():
    texts = {path: path.read_text() for path in (ROOT / name for name in PAGES)}
    for path in (ROOT / "notebooks").glob("*.ipynb"):
        cells = json.loads(path.read_text())["cells"]
        texts[path] = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    for path, text in texts.items():
        for target in re.findall(r"\]\(([^)#:]+?)(?:#[\w-]*)?\)", text) + re.findall(r'(?:src|srcset)="([^"]+)"', text):
            assert (path.parent / target).exists(), f"{path.name} links to {target}"


def test_nothing_that_is_read_is_run():
    """No code from strings, no pickles, no shells; and JupyterLab keeps to this machine, with its token."""
    course = {"kit.plain: exec", "kit.plain: compile"}  # the notebooks of the checkout, as a kernel would run them
    risky = {"eval", "exec", "compile", "__import__", "os.system", "os.popen", "torch.load", "yaml.load"}
    for name, tree in MODULES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                called = ast.unparse(node.func)
                assert called not in risky or f"{name}: {called}" in course, f"{name}:{node.lineno} calls {called}"
                assert not any(word.arg == "shell" for word in node.keywords), f"{name}:{node.lineno} starts a shell"
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) else []
            assert not {"pickle", "marshal", "shelve", "dill", "joblib"} & set(names), f"{name}:{node.lineno}"
    lab = re.search(r"(?m)^lab:.*\n\t(.*)$", (ROOT / "Makefile").read_text())[1]
    assert "--ip=localhost" in lab and not re.search(r"token|password|0\.0\.0\.0", lab)


@pytest.mark.slow
def test_the_wheel_carries_data_and_licences(tmp_path):
    """Built, installed into a new environment that has the dependencies and no other uqlib, then used."""
    run = lambda *command, **options: subprocess.run(command, check=True, cwd=tmp_path, **options)  # noqa: E731
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", tmp_path, ROOT)
    (wheel,) = tmp_path.glob("uqlib-*.whl")
    run(sys.executable, "-m", "venv", tmp_path / "new")
    python = tmp_path / "new" / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", "--no-deps", wheel)
    (site,) = (tmp_path / "new").glob("lib/python*/site-packages")
    dependencies = Path(pytest.__file__).parents[1]
    (site / "dependencies.pth").write_text(f"{dependencies}\n")
    code = """
import pathlib, torch, uqlib
from importlib.metadata import metadata
from uqlib import datasets, losses, models, runtime, training
assert "new" in pathlib.Path(uqlib.__file__).parts, uqlib.__file__
table = datasets.load("mcycle")
x, y = ((part - part.mean(0)) / part.std(0) for part in (table.x, table.y))
net = models.MLP(1, (4,), 1, generator=runtime.seed(0))
history = training.fit(lambda x, y: losses.squared_error(net(x), y), net.parameters(), (x, y), steps=50, lr=1e-2)
assert history.train[-1] < history.train[0]
facts = metadata("uqlib")
assert "GPL-2.0-only" in facts["License-Expression"] and facts.get_all("License-File") == ["LICENSE", "data/README.md"]
"""
    run(python, "-c", code)
