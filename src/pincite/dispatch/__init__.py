"""How workers are woken for runs: within one process, or by Procrastinate on PostgreSQL.

Who may work on a run is decided by the run's own row (lease and epoch, `storage.queue`); a wake-up may be lost or come
twice and nothing is lost or done twice.
"""
