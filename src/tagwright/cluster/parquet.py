"""Parquet files with a column of sentences: tagged row group by row group, all other columns left as they are."""

from __future__ import annotations

import importlib
from typing import Any

from tagwright.cluster.batch_tagger import BatchTagger

_ROWS = 4096  # that are tagged at a time


def is_parquet(path: str) -> bool:
    """Return whether a file is Parquet, by its name."""
    return path.lower().endswith((".parquet", ".pq"))


def _arrow() -> tuple[Any, Any]:
    try:
        return importlib.import_module("pyarrow"), importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise ValueError("pyarrow is not installed; pip install 'tagwright[ray]'") from None


def tag_parquet(source: str, out: Any, tagger: BatchTagger) -> None:
    """Write the rows of a file with the columns of a tagger added; row groups stay row groups."""
    arrow, parquet = _arrow()
    text, number = arrow.string(), arrow.float64()
    kinds = {
        "labels": arrow.list_(text),
        "score": number,
        "probability": number,
        "marginals": arrow.list_(number),
        "kbest": arrow.list_(arrow.list_(text)),
        "kbest_score": arrow.list_(number),
        "kbest_probability": arrow.list_(number),
    }
    try:
        file = parquet.ParquetFile(source)
    except arrow.ArrowInvalid as error:
        raise ValueError(f"{source}: not a Parquet file ({error}); rename it, or write it again") from None
    with file:
        # What is added is known by the answer to no rows at all; a column that is there already is an error.
        nothing: dict[str, Any] = {name: [] for name in file.schema_arrow.names}
        added = [name for name in _tagged(source, tagger, nothing, 0) if name not in nothing]
        schema = file.schema_arrow
        for name in added:
            schema = schema.append(arrow.field(name, kinds[name]))
        with parquet.ParquetWriter(out, schema) as writer:
            first = 0
            for group in range(file.num_row_groups):
                table = file.read_row_group(group)
                made: dict[str, list[Any]] = {name: [] for name in added}
                for at in range(0, table.num_rows, _ROWS):
                    rows = table.column(tagger.column).slice(at, _ROWS).to_pylist()
                    found = _tagged(source, tagger, {tagger.column: rows}, first + at)
                    for name in added:
                        made[name] += found[name]
                for name in added:
                    table = table.append_column(name, arrow.array(made[name], kinds[name]))
                writer.write_table(table, row_group_size=max(1, table.num_rows))
                first += table.num_rows


def _tagged(source: str, tagger: BatchTagger, batch: dict[str, Any], first: int) -> dict[str, Any]:
    """Return the tagger's answer; errors say in which file, and behind which row."""
    try:
        return tagger(batch)
    except ValueError as error:
        behind = f" (rows are counted from row {first:,} of the file)" if first else ""
        raise ValueError(f"{source}: {error}{behind}") from None
