"""The command line: results on stdout, progress and messages on stderr."""
