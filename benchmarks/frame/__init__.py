"""What all benchmarks share: a run and its tables, data, timing, figures, the report."""
