"""The README for a package index, where links into this repository lead nowhere: links become the names of files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
IMAGE = re.compile(r"!\[[^\]]*\]\((?!https?:)[^)]*\)\n*")
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((?!https?:|#)([^)#]*)[^)]*\)")


def package_readme() -> str:
    """Return the README without relative links and images."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    text = LINK.sub(r"\1 (`\2`)", IMAGE.sub("", text))
    return f"{text}\nFiles that are named here are in the source distribution.\n"


def dynamic_metadata(field: str, settings: dict[str, Any], *project: Any) -> dict[str, str]:
    """Return the field `readme` of the metadata, for scikit-build-core."""
    if field != "readme" or settings:
        raise ValueError("this provides the field readme, and has no settings")
    return {"content-type": "text/markdown", "text": package_readme()}
