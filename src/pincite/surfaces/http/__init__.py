"""The HTTP API: research as runs with events, search, fetch, and the shapes of other services. Needs `[server]`."""
