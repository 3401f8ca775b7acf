"""Searches over options on clusters, by joblib: the same answers as in one process."""

import re

import joblib
import pytest
from sklearn.model_selection import GridSearchCV
from support.commands import columns, printed
from support.corpora import drawn

import tagwright as tw

pytestmark = [pytest.mark.engines, pytest.mark.filterwarnings("ignore")]

X, Y = drawn(1, sentences=120, words=40, labels=5)
GRID = {"margin": [0, 1, 3], "min_count": [1, 2]}


def searched():
    search = GridSearchCV(tw.Perceptron("U0:%x[0,0]\nB\n", epochs=2), GRID, cv=2, n_jobs=2).fit(X, Y)
    return search.cv_results_["mean_test_score"].tolist(), search.best_params_, search.predict(X)


@pytest.fixture(scope="module")
def alone():
    with joblib.parallel_config("sequential"):
        return searched()


def test_grid_search_by_ray(own_ray, alone):
    from ray.util.joblib import register_ray

    register_ray()
    with joblib.parallel_config("ray"):
        assert searched() == alone


def test_grid_search_by_dask(alone):
    distributed = pytest.importorskip("distributed", reason="Dask is not installed: pip install distributed")
    options = {"n_workers": 2, "threads_per_worker": 1, "host": "127.0.0.1", "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster), joblib.parallel_config("dask"):
        assert searched() == alone


def test_tune_by_ray(own_ray, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.txt").write_text(columns(X, Y))
    call = ("tune", "train.txt", "best.safetensors", "--dev", "train.txt", "--epochs", 3)
    seconds = re.compile(r" +[0-9.]+$", flags=re.M)
    here, there = printed(*call), printed(*call, "--ray", "auto")
    assert seconds.sub("", here) == seconds.sub("", there)
