"""One adapter of each kind for Pincite; each file stands alone."""
