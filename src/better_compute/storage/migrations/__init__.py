"""The way from each older schema to today's; run by `storage.schema`, with Alembic."""
