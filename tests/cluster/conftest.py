"""A Ray of our own for the tests that need one; they run only on request, as `make test-ray` does."""

import subprocess
import sys

import pytest

START = "import ray; ray.init(address='local', num_cpus=1, include_dashboard=False)"


@pytest.fixture(scope="session")
def ray():
    """Ray, where it is installed and starts: it needs shared memory and an address of its own."""
    module = pytest.importorskip("ray", reason="Ray is not installed: pip install 'tagwright[ray]'")
    try:
        subprocess.run([sys.executable, "-c", START], check=True, capture_output=True, text=True, timeout=120)
    except subprocess.TimeoutExpired:
        pytest.skip("Ray does not start here within two minutes")
    except subprocess.CalledProcessError as error:
        pytest.skip(f"Ray does not start here: {error.stderr.strip().splitlines()[-1]}")
    return module


@pytest.fixture(scope="session")
def own_ray(ray):
    """Ray with room for three workers, on this machine, for all tests together."""
    ray.init(address="local", num_cpus=3, include_dashboard=False, log_to_driver=False, logging_level="error")
    yield ray
    ray.shutdown()
