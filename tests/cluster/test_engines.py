"""BatchTagger inside the real engines: Ray Data, Dask and Spark."""

import os
import shutil
import sys

import pytest
from support.corpora import many_labels

import tagwright as tw
from tagwright.cluster import BatchTagger

pytestmark = [pytest.mark.engines, pytest.mark.filterwarnings("ignore")]

X, Y = many_labels(sentences=200)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    made = tmp_path_factory.mktemp("models") / "model.safetensors"
    tw.CRF(epochs=2).fit(X, Y).model_.save(made)
    return made


@pytest.fixture(scope="module")
def expected(path):
    return tw.load(path).tag_batch(X)


def as_lists(values):
    return [list(value) for value in values]


def test_ray_data_takes_the_class_itself(own_ray, path, expected):
    import ray.data

    ray.data.DataContext.get_current().enable_progress_bars = False
    rows = ray.data.from_items([{"number": n, "tokens": words} for n, words in enumerate(X)])
    tagged = rows.map_batches(
        BatchTagger,
        fn_constructor_kwargs={"model_path": str(path), "k": 2, "proba": True},
        batch_size=32,
        compute=ray.data.ActorPoolStrategy(size=2),
    )
    found = sorted(tagged.take_all(), key=lambda row: row["number"])
    assert as_lists(row["labels"] for row in found) == expected
    assert as_lists(row["tokens"] for row in found) == X
    best = tw.load(path).tag_kbest(X, 2, proba=True)
    assert [row["probability"] for row in found] == [own[0].probability for own in best]
    assert [as_lists(row["kbest"]) for row in found] == [[one.labels for one in own] for own in best]
    # Lists stay lists in Arrow, so that any reader of Parquet reads them.
    assert "list<item: string>" in str(tagged.schema().types)
    assert "pickled" not in str(tagged.schema().types)


def test_dask_maps_partitions(path, expected):
    pytest.importorskip("dask.dataframe", reason="Dask is not installed")
    import dask.dataframe
    import pandas as pd

    # By default, Dask makes strings of lists.
    dask.config.set({"dataframe.convert-string": False})
    tagger = BatchTagger(path)
    frame = dask.dataframe.from_pandas(pd.DataFrame({"number": range(len(X)), "tokens": X}), npartitions=5)

    def tagged(part):
        return part.assign(labels=tagger({"tokens": part["tokens"]})["labels"])

    meta = {"number": "int64", "tokens": "object", "labels": "object"}
    found = frame.map_partitions(tagged, meta=meta).compute(scheduler="processes", num_workers=2)
    assert found["number"].tolist() == list(range(len(X)))
    assert as_lists(found["labels"]) == expected


def test_spark_maps_in_pandas(path, expected, monkeypatch, tmp_path):
    pytest.importorskip("pyspark", reason="not applicable: PySpark is not installed")
    if not (shutil.which("java") or os.environ.get("JAVA_HOME")):
        pytest.skip("not applicable: there is no Java for Spark")
    from pyspark.sql import SparkSession

    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.local.dir", str(tmp_path))
        .getOrCreate()
    )
    try:
        frame = spark.createDataFrame(list(enumerate(X)), "number long, tokens array<string>").repartition(4)
        tagger = BatchTagger(path)

        def tagged(parts):
            for part in parts:
                yield part.assign(labels=tagger({"tokens": part["tokens"]})["labels"])

        made = frame.mapInPandas(tagged, "number long, tokens array<string>, labels array<string>")
        found = sorted(made.collect())
    finally:
        spark.stop()
    assert as_lists(row["tokens"] for row in found) == X
    assert as_lists(row["labels"] for row in found) == expected
