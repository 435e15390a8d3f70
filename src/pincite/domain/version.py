"""The version of this Pincite, in one place."""

VERSION = "0.1.0"
