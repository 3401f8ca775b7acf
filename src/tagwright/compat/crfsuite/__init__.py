"""The interface of python-crfsuite (``import pycrfsuite``), implemented by tagwright.

Models are written as tagwright's own files; `Tagger.open` reads these and those of CRFsuite. The page "Coming from
another tool" lists the differences.

Examples
--------
>>> import os, tempfile
>>> from tagwright.compat import crfsuite as pycrfsuite
>>> path = os.path.join(tempfile.mkdtemp(), "pos.crfsuite")
>>> trainer = pycrfsuite.Trainer(verbose=False)
>>> trainer.append([{"word": "the"}, {"word": "dog"}], ["DT", "NN"])
>>> trainer.train(path)
>>> with pycrfsuite.Tagger().open(path) as tagger:
...     tagger.tag([{"word": "the"}, {"word": "dog"}])
['DT', 'NN']
"""

from __future__ import annotations

import sys

from tagwright.compat.crfsuite import _dumpparser, _logparser
from tagwright.compat.crfsuite.items import ItemSequence
from tagwright.compat.crfsuite.parameters import CRFSUITE_VERSION, CRFSuiteError
from tagwright.compat.crfsuite.tagger import Tagger
from tagwright.compat.crfsuite.trainer import BaseTrainer, Trainer

__all__ = ["CRFSUITE_VERSION", "BaseTrainer", "CRFSuiteError", "ItemSequence", "Tagger", "Trainer", "install"]

_pycrfsuite = sys.modules[__name__]
_SUBMODULES = {"_pycrfsuite": _pycrfsuite, "_dumpparser": _dumpparser, "_logparser": _logparser}


def install() -> None:
    """Register this module as ``pycrfsuite``, so that applications of python-crfsuite run unmodified.

    Call it before anything imports ``pycrfsuite``; python-crfsuite need not be installed. Calling it again has no
    effect.

    Raises
    ------
    RuntimeError
        If python-crfsuite was already imported: modules that hold its classes would keep them.

    """
    if sys.modules.get("pycrfsuite", _pycrfsuite) is not _pycrfsuite:
        raise RuntimeError("pycrfsuite is already imported; call install() before the first import of pycrfsuite")
    sys.modules["pycrfsuite"] = _pycrfsuite
    for name, module in _SUBMODULES.items():
        sys.modules[f"pycrfsuite.{name}"] = module
