"""The revisions that Alembic goes by, oldest first; each runs the SQL of its number."""
