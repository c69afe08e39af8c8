"""One open write of a PostgreSQL store: what ends it also wakes those who follow."""

from __future__ import annotations

from memlog.store.transaction import Transaction


class PostgresTransaction(Transaction):
    """One open write; see `memlog.store.transaction.Transaction`."""

    def finish(self) -> None:
        """Store the new head and wake those who follow; the last thing before the commit.

        The message is a hint: PostgreSQL sends it when the transaction commits, and loses it where
        nobody listens.
        """
        if self.first is not None:
            self.cursor.execute(
                "WITH moved AS (UPDATE log SET position = ?, recorded_at = ? RETURNING position) "
                "SELECT pg_notify(?, position::text) FROM moved",
                (self.head, self.recorded_at, channel(self._log_id)),
            )


def channel(log_id: str) -> str:
    """Return the name under which PostgreSQL tells that something was appended to a log."""
    return f"memlog_{log_id}"
