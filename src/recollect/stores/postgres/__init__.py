"""PostgreSQL: `PostgresStore` keeps memories in a database that many processes share."""

from recollect.stores.postgres.store import PostgresStore

__all__ = ["PostgresStore"]
