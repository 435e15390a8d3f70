"""Search: one request shape for every engine, routed, limited, cached and never lost. Results are leads, not evidence.

`service` is the front door; `catalogue` says what each engine can do and costs; `providers` speak to the engines.
"""
