"""Read models built from the log. Each can be dropped and rebuilt, and comes out the same."""
