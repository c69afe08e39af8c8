"""Measurements of memlog beside what a user would take instead; see `benchmarks/README.md`."""
