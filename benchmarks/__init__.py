"""The papers' tables made again, and peers beside us: `python -m benchmarks --help`."""
