"""Calls to services that the operator has an account at: search engines and hosted scrapers. Never to pages."""
