"""The past of a scope: as of any moment, between two, without some events, and what came of them.

    moments     which events a seq, a time or a position of the log includes
    replay      what those events add up to, with or without some of them
    snapshot    that, behind the reading half of a store
    past        the reads of `memlog.Memory` over it
    diff        what two moments differ in
    timeline    events with what each of them changed
    taint       what came from some events: notes, and the prompts that showed them
    prompts     from the hash of a section to the events behind each of its lines
    matching    which events are meant
    surface     all of this as methods of `memlog.Memory`

Nothing here writes.
"""
