"""What Alembic runs: the migrations, in the transaction that the caller has open."""

from __future__ import annotations

from alembic import context

from better_compute.storage.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
with context.begin_transaction():
    context.run_migrations()
