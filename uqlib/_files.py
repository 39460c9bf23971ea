"""Files appear under their name when they are complete, or not at all."""

import os
import tempfile
from pathlib import Path


def write(target: Path, content: bytes) -> None:
    """Write `content` to `target` in one step, making its folder; a killed run leaves the old file or none."""
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=".", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(name).chmod(0o644)
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
