"""Research. The loop (`service`), the six roles (`roles`) and their two implementations.

`extractive` works without a model and gives the same report for the same pages. Roles do not call each other;
they meet in `service`. Every outside call goes through `ports.Ledger`, so a run that was killed executes again from
its record.
"""
