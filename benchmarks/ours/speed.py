"""Where the time goes: from text to labels, in training, and ratios that hold on any machine.

Everything is checked before it is timed. Ratios are of times in one run, taken by turns, best of several; times of one
thread are those of the processor, which other programs disturb least. Where $TAGWRIGHT_BEFORE names the Python of an
environment with an earlier version, such as 0.5.0, that version takes turns with this one.
"""

from __future__ import annotations

from benchmarks.ours import tagging_speed, training_speed

PARTS = {part.__name__: part for part in (*tagging_speed.PARTS, *training_speed.PARTS)}
