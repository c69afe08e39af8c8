"""Check what a store holds: the bytes, the proofs, the rules, and every read model of them.

`memlog.Log.verify` and `memlog verify` are the ways in. Nothing is changed, damage is a finding and
never an exception, and memory does not grow with the log.
"""
