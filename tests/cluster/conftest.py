"""A Ray of our own for the tests that need one; they run only where they are asked for, as `make test-ray` does."""

import pytest


def pytest_collection_modifyitems(config, items):
    if config.getoption("markexpr") == "engines":
        return
    skip = pytest.mark.skip(reason="starts Ray, Dask or Spark; make test-ray runs it")
    for item in items:
        if "engines" in item.keywords:
            item.add_marker(skip)


@pytest.fixture(scope="session")
def own_ray():
    """Ray with room for three workers, on this machine, for all tests together."""
    ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'tagwright[ray]'")
    ray.init(address="local", num_cpus=3, include_dashboard=False, log_to_driver=False, logging_level="error")
    yield ray
    ray.shutdown()
