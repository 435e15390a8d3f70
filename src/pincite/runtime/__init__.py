"""How anything is run: limits, breakers, single flight, time, the ledger; not what the calls are about."""
