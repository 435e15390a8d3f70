"""Texts as vectors, for what words alone don't bring together: MiniLM offline (an extra), a server, a folder."""
