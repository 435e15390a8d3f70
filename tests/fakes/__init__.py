"""Stand-ins that only our own tests and benchmarks use; `pincite.testing` has those that are shipped."""
