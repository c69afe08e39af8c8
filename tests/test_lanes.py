from hypothesis import given
from hypothesis import strategies as st

from projections.notes.lanes import BYTE_MAX, LANE_BYTES, at_least, shared_bits

LANES = st.lists(st.integers(0, 2**64 - 1), max_size=150)
BYTES = st.integers(0, BYTE_MAX)


@given(LANES, st.integers(0, 2**56 - 1))
def test_shared_bits_are_those_of_each_lane(lanes: list[int], mask: int) -> None:
    stored = b"".join(lane.to_bytes(LANE_BYTES, "little") for lane in lanes)

    assert list(shared_bits(stored, mask)) == [(lane & mask).bit_count() for lane in lanes]


def test_full_lanes_do_not_run_into_each_other() -> None:
    lanes = b"\xff" * LANE_BYTES * 200

    assert shared_bits(lanes, 2**56 - 1) == bytes([56]) * 200


@given(st.lists(st.tuples(BYTES, BYTES), max_size=150))
def test_at_least_tells_each_pair(pairs: list[tuple[int, int]]) -> None:
    left, right = bytes(each[0] for each in pairs), bytes(each[1] for each in pairs)

    assert [bool(flag) for flag in at_least(left, right)] == [a >= b for a, b in pairs]
