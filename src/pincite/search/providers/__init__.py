"""One file for each engine: request, answer, errors. Only the wiring names the classes here."""
