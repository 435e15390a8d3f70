"""Judges of meaning: `ports.Judge` as a language model, an endpoint, a model of this machine, or one before another."""
