"""Our model files with damage that no digest repairs, to compare with `peer_crfsuite`."""

from pathlib import Path

import tagwright as tw
from tests.fuzz.models import DATA, FILES, WORDS

EXPECTED = (ValueError, OSError)
RIGHT = tw.load(DATA / "crf.safetensors").tag_kbest(WORDS[:6], 2, proba=True)


def attempt(draw):
    """A file is refused, or as good as it was: not every change is damage."""
    Path("damaged").write_bytes(draw.damaged(FILES["crf"]))
    assert tw.load("damaged").tag_kbest(WORDS[:6], 2, proba=True) == RIGHT
    return True
