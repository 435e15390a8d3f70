"""The roles of a run without a model: they choose what pages say and print it word for word (docs/research.md)."""
