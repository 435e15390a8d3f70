"""Texts as vectors, for what words alone don't bring together. One adapter: MiniLM in eight bits, offline, an extra."""
