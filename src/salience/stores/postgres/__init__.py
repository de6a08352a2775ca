"""PostgreSQL: `PostgresStore` keeps memories in a database that many processes share."""

from salience.stores.postgres.store import PostgresStore

__all__ = ["PostgresStore"]
