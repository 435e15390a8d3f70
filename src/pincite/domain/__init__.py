"""What Pincite talks about: frozen values, standard library only, no input or output.

One file per subject: `search`, `page`, `evidence`, `plan`, `report`, `budget`, `events`, `errors`, `ids`.
Import from the defining file; this package re-exports nothing.
"""
