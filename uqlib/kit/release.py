"""One zip of all figures, for people without Python: the same bytes from the same files."""

import importlib.metadata
import io
import zipfile
from pathlib import Path

from uqlib import _files


def make(root: Path) -> Path:
    """Write dist/uqlib-figures-VERSION.zip: every PDF light and dark, the gallery, the manifest and the licence.

    Raises ValueError if there are no figures yet.
    """
    figures = root / "figures"
    manifest = figures / "manifest.json"
    pdfs = sorted(path for theme in ("light", "dark") for path in (figures / theme).glob("*.pdf"))
    if not manifest.exists() or not pdfs:
        raise ValueError("figures/: expected PDFs and manifest.json, found none; run `make figures`")
    paths = [*pdfs, *sorted(figures.glob("thumbs/*/*.png")), manifest, figures / "README.md"]
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in [*paths, root / "LICENSE"]:
            entry = zipfile.ZipInfo(f"uqlib-figures/{path.relative_to(root).as_posix()}")  # dated 1980: same bytes
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED)
    target = root / "dist" / f"uqlib-figures-{importlib.metadata.version('uqlib')}.zip"
    _files.write(target, buffer.getvalue())
    return target
