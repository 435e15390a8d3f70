"""Surfaces: thin. They parse, call the engine and render; they do not know each other."""
