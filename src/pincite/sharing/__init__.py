"""What one installation hands to another: captures and search answers, signed, named by their hash, never trusted."""
