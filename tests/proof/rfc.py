"""RFC 9162, 2.1, word for word: recursive, slow, and written without a look at our code."""

import hashlib
from collections.abc import Sequence


def leaf_hash(leaf: bytes) -> bytes:
    return hashlib.sha256(b"\x00" + leaf).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\x01" + left + right).digest()


def split(size: int) -> int:
    k = 1
    while k * 2 < size:
        k *= 2
    return k


def mth(leaf_hashes: Sequence[bytes]) -> bytes:
    """2.1.1"""
    if not leaf_hashes:
        return hashlib.sha256().digest()
    if len(leaf_hashes) == 1:
        return leaf_hashes[0]
    k = split(len(leaf_hashes))
    return node_hash(mth(leaf_hashes[:k]), mth(leaf_hashes[k:]))


def path(m: int, leaf_hashes: Sequence[bytes]) -> list[bytes]:
    """2.1.3.1"""
    if len(leaf_hashes) == 1:
        return []
    k = split(len(leaf_hashes))
    if m < k:
        return [*path(m, leaf_hashes[:k]), mth(leaf_hashes[k:])]
    return [*path(m - k, leaf_hashes[k:]), mth(leaf_hashes[:k])]


def proof(m: int, leaf_hashes: Sequence[bytes]) -> list[bytes]:
    """2.1.4.1"""
    return _subproof(m, leaf_hashes, whole=True)


def _subproof(m: int, leaf_hashes: Sequence[bytes], *, whole: bool) -> list[bytes]:
    if m == len(leaf_hashes):
        return [] if whole else [mth(leaf_hashes)]
    k = split(len(leaf_hashes))
    if m <= k:
        return [*_subproof(m, leaf_hashes[:k], whole=whole), mth(leaf_hashes[k:])]
    return [*_subproof(m - k, leaf_hashes[k:], whole=False), mth(leaf_hashes[:k])]


def inclusion_root(leaf: bytes, index: int, size: int, hashes: Sequence[bytes]) -> bytes | None:
    """2.1.3.2: the root that the proof leads to, or None where verification fails before."""
    if index >= size:
        return None
    fn, sn, r = index, size - 1, leaf
    for p in hashes:
        if sn == 0:
            return None
        if fn & 1 or fn == sn:
            r = node_hash(p, r)
            while not fn & 1 and fn:
                fn, sn = fn >> 1, sn >> 1
        else:
            r = node_hash(r, p)
        fn, sn = fn >> 1, sn >> 1
    return r if sn == 0 else None


def consistency_roots(
    first: int, second: int, first_hash: bytes, hashes: Sequence[bytes]
) -> tuple[bytes, bytes] | None:
    """2.1.4.2 for 0 < first < second: the roots, or None where verification fails before."""
    if not hashes:
        return None
    steps = [first_hash, *hashes] if first & (first - 1) == 0 else list(hashes)
    fn, sn = first - 1, second - 1
    while fn & 1:
        fn, sn = fn >> 1, sn >> 1
    fr = sr = steps[0]
    for c in steps[1:]:
        if sn == 0:
            return None
        if fn & 1 or fn == sn:
            fr, sr = node_hash(c, fr), node_hash(c, sr)
            while not fn & 1 and fn:
                fn, sn = fn >> 1, sn >> 1
        else:
            sr = node_hash(sr, c)
        fn, sn = fn >> 1, sn >> 1
    return (fr, sr) if sn == 0 else None
