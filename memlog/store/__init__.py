"""The append-only store of events, on the recorders of the `eventsourcing` package."""
