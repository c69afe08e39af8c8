"""One open write of a PostgreSQL store: what ends it also wakes those who follow."""

from __future__ import annotations

from psycopg import sql

from memlog.store.transaction import Transaction

_ENDING = sql.SQL("UPDATE log SET position = {}, recorded_at = {}; NOTIFY {}, {}; COMMIT")
_COMMIT = sql.SQL("COMMIT")


class PostgresTransaction(Transaction):
    """One open write; see `memlog.store.transaction.Transaction`."""

    def ending(self) -> sql.SQL | sql.Composed:
        """Return what stores the new head, wakes those who follow, and commits: one exchange.

        The message is a hint: PostgreSQL sends it when the transaction commits, and loses it where
        nobody listens.
        """
        if self.first is None:
            return _COMMIT
        heard = sql.Identifier(channel(self._log_id))
        return _ENDING.format(self.head, self.recorded_at, heard, str(self.head))


def channel(log_id: str) -> str:
    """Return the name under which PostgreSQL tells that something was appended to a log."""
    return f"memlog_{log_id}"
