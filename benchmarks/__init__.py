"""The papers' tables reproduced, and compared with other packages: `python -m benchmarks --help`."""
