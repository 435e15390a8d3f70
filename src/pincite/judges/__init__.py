"""Judges of entailment: `ports.EntailmentBackend` over an HTTP endpoint or a model of this machine. None by default."""
