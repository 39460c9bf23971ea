"""Which exercises were solved: one small JSON file, in the home folder or where UQLIB_PROGRESS says."""

import datetime
import json
import os
from pathlib import Path

from uqlib import _files


def place() -> Path:
    """The file; it need not be there."""
    named = os.environ.get("UQLIB_PROGRESS", "")
    return Path(named) if named else Path.home() / ".uqlib" / "progress.json"


def solved() -> dict[str, str]:
    """The solved exercises and their days. Empty if there is no file or it cannot be read."""
    try:
        found = json.loads(place().read_text(encoding="utf-8"))
        return {str(key): str(day) for key, day in found.items()}
    except (OSError, ValueError, AttributeError):
        return {}


def note(key: str) -> None:
    """Write down that an exercise is solved, once; not where notebooks run without a reader (UQLIB_STATIC)."""
    before = solved()
    if key in before or os.environ.get("UQLIB_STATIC", ""):
        return
    after = before | {key: datetime.date.today().isoformat()}
    try:
        _files.write(place(), (json.dumps(after, indent=1, sort_keys=True) + "\n").encode())
    except OSError as trouble:
        print(f"(Your progress could not be kept in {place()}: {trouble.strerror}.)")


def forget() -> bool:
    """Delete the file; whether there was one."""
    there = place().exists()
    place().unlink(missing_ok=True)
    return there
