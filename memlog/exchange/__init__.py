"""Notes and logs in and out: import of notes, export to Markdown, the log as JSON Lines."""
