"""How well a setting answers questions whose answers somebody knows."""
