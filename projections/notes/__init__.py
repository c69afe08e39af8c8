"""The notes and links of each scope: folded in memory (`fold`), and kept in tables (`tables`)."""

from projections.notes.fold import Fold, replay

__all__ = ["Fold", "replay"]
