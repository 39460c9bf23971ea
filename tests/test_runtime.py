"""Devices by name, seeding without touching anything global."""

import pytest
import torch

from uqlib import runtime


@pytest.mark.parametrize("name", ["cpu", "CPU", " cpu "])
def test_cpu(monkeypatch, name):
    monkeypatch.setenv("UQLIB_DEVICE", name)
    assert runtime.device() == torch.device("cpu")
    monkeypatch.undo()


@pytest.mark.parametrize("name", ["auto", "", None])
def test_auto_is_cuda_or_cpu_and_never_mps(monkeypatch, name):
    with monkeypatch.context() as patch:
        patch.delenv("UQLIB_DEVICE", raising=False)
        if name is not None:
            patch.setenv("UQLIB_DEVICE", name)
        patch.setattr(torch.cuda, "is_available", lambda: False)
        patch.setattr(torch.backends.mps, "is_available", lambda: True)
        assert runtime.device() == torch.device("cpu")
        patch.setattr(torch.cuda, "is_available", lambda: True)
        assert runtime.device() == torch.device("cuda")


def test_cuda_index(monkeypatch):
    with monkeypatch.context() as patch:
        patch.setenv("UQLIB_DEVICE", "cuda:1")
        patch.setattr(torch.cuda, "is_available", lambda: True)
        patch.setattr(torch.cuda, "device_count", lambda: 2)
        assert runtime.device() == torch.device("cuda:1")
        patch.setattr(torch.cuda, "device_count", lambda: 1)
        with pytest.raises(RuntimeError, match="only 1 CUDA device"):
            runtime.device()


@pytest.mark.parametrize(
    ("name", "error", "words"),
    [
        ("gpu", ValueError, "UQLIB_DEVICE='gpu': expected auto, cpu, cuda"),
        ("cuda:x", ValueError, "expected auto, cpu, cuda"),
        ("cpu:1", ValueError, "expected auto, cpu, cuda"),
        ("cuda", RuntimeError, "no CUDA device is visible"),
        ("mps", RuntimeError, "no float64"),
    ],
)
def test_refuses(monkeypatch, name, error, words):
    with monkeypatch.context() as patch:
        patch.setenv("UQLIB_DEVICE", name)
        patch.setattr(torch.cuda, "is_available", lambda: False)
        patch.setattr(torch.backends.mps, "is_available", lambda: True)
        with pytest.raises(error, match=words) as caught:
            runtime.device()
        assert "\n" not in str(caught.value)


def test_seed_is_an_independent_cpu_generator():
    first, second = runtime.seed(4), runtime.seed(4)
    assert first.device == torch.device("cpu")
    assert torch.equal(torch.rand(5, generator=first), torch.rand(5, generator=second))
    assert torch.initial_seed() != 4


@pytest.mark.bad_input
def test_seed_refuses():
    for value, error in ((1.5, TypeError), (True, TypeError), (-1, ValueError)):
        with pytest.raises(error, match="seed: expected a whole number"):
            runtime.seed(value)


def test_environment_names_what_matters():
    report = runtime.environment()
    assert report["torch"] == torch.__version__
    assert set(report) == {"python", "torch", "device", "dtype", "threads", "machine"}
