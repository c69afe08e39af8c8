"""The section: the index of a scope's notes, as it stands in a system prompt.

`render` is pure: notes and settings in, text out. `headline` is what it reads of an unpinned note.
"""
