"""The page as static files that need no server: the models are tagged in the browser by the WASM runtime."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

from tagwright.data.output import writing
from tagwright.models.linear import LinearModel
from tagwright.models.model import Model
from tagwright.serve.answers import list_models
from tagwright.serve.settings import Settings
from tagwright.serve.store import Store

_FOLDER = Path(__file__).parent
RUNTIME = ("index.js", "tagwright.mjs", "tagwright.wasm")
"""The files of the npm package tagwright-wasm that the page needs."""


def export_page(settings: Settings, folder: str | os.PathLike[str], runtime: str | os.PathLike[str]) -> list[str]:
    """Write the page with its models as static files; return their names, relative to the folder.

    Parameters
    ----------
    settings
        The models.
    folder
        Where the files go; it is made if needed. Files of the same names are replaced.
    runtime
        The folder of the npm package tagwright-wasm, as ``make wasm`` builds it.

    Raises
    ------
    ValueError
        If a model cannot be shown without a server: only perceptrons, CRFs and HMMs of order 1 that read text, without
        token-dependent edges, can.
    OSError
        If a file of the runtime is missing, or a file cannot be written.

    """
    files = {f"wasm/{name}": Path(runtime, name).read_bytes() for name in RUNTIME}
    store = Store(settings)
    asyncio.run(store.open())
    for name, served in store.served.items():
        _check(name, served.model)
        files[f"models/{name}.safetensors"] = Path(served.path).read_bytes()
    facts: dict[str, Any] = list_models(store)
    for model in facts["models"]:
        model["scheme"] = None  # constraints of requests need the server
    files["models.json"] = json.dumps(facts, ensure_ascii=False).encode()
    for path in sorted((_FOLDER / "page").iterdir()):
        files[path.name] = path.read_bytes()
    files["api.js"] = (_FOLDER / "offline" / "api.js").read_bytes()
    files["index.html"] = files["index.html"].replace(b'"/page/', b'"./')
    for name, content in files.items():
        target = Path(folder, name)
        target.parent.mkdir(parents=True, exist_ok=True)
        with writing(target) as file:
            file.write(content)
    return sorted(files)


def _check(name: str, model: Model | None) -> None:
    """Raise ValueError unless the C API can return the scores of the model's sentences."""
    if not isinstance(model, LinearModel) or not model.columns:
        raise ValueError(f"model {name} cannot be exported: it is not a linear model that reads text; use the server")
    arrays = model.arrays
    if len(arrays.get("corrections.score", ())) or len(arrays.get("ngrams.score", ())):
        raise ValueError(f"model {name} cannot be exported: its edges depend on tokens or n-grams; use the server")
