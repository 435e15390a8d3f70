"""Search: one request shape for every engine, routed, limited, cached and never lost. Results are leads, not evidence.

`service` is where a search begins; `catalogue` says what each engine can do and costs; `providers` speak to them.
"""
