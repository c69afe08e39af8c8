"""Every proof of every tree up to 70 leaves checks, and no damaged one does."""

import hashlib
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import chain, combinations

import pytest

from memlog.proof import (
    EMPTY_ROOT,
    ConsistencyError,
    InclusionError,
    ShapeError,
    check_consistency,
    check_inclusion,
)
from projections import tree
from tests.proof import rfc

SIZE_MAX = 70
ALL_BITS_SIZE_MAX = 9
LEAVES = [rfc.leaf_hash(b"leaf %d" % index) for index in range(SIZE_MAX)]
STRANGER = hashlib.sha256(b"a hash of nothing here").digest()
ANY_HASHES = [hashlib.sha256(b"%d" % number).digest() for number in range(10)]
SIZES = range(1, SIZE_MAX + 1)

Check = Callable[[int, int, Sequence[bytes]], None]


def _stored(leaves: Sequence[bytes]) -> list[bytes]:
    stack: list[bytes] = []
    return [
        *chain.from_iterable(
            tree.push_leaf(stack, leaf, index=index) for index, leaf in enumerate(leaves)
        )
    ]


STORED = _stored(LEAVES)


def read(ids: Sequence[int]) -> list[bytes]:
    return [STORED[id_] for id_ in ids]


@cache
def _root(size: int) -> bytes:
    return rfc.mth(LEAVES[:size])


def _flip(value: bytes, bit: int) -> bytes:
    return (int.from_bytes(value) ^ (1 << bit)).to_bytes(len(value))


def _damaged(proof: Sequence[bytes], size: int) -> Iterator[list[bytes]]:
    """Yield the proof with a bit flipped, a hash swapped, dropped, doubled, added or cut."""
    bits: Sequence[int] = range(256)
    if size > ALL_BITS_SIZE_MAX:
        bits = random.Random(size).sample(range(256), 1)
    for at, each in enumerate(proof):
        before, after = proof[:at], proof[at + 1 :]
        yield from ([*before, _flip(each, bit), *after] for bit in bits)
        yield [*before, *after]
        yield [*before, each, each, *after]
        yield [*before, STRANGER, each, *after]
        yield [*before, each[:-1], *after]
        yield [*before, each + b"\0", *after]
        for other in range(at + 1, len(proof)):
            swapped = list(proof)
            swapped[at], swapped[other] = swapped[other], swapped[at]
            yield swapped
    yield [*proof, STRANGER]


def _includes(size: int, index: int, proof: Sequence[bytes]) -> None:
    check_inclusion(LEAVES[index], index=index, size=size, proof=proof, root=_root(size))


def _extends(old_size: int, size: int, proof: Sequence[bytes]) -> None:
    check_consistency(
        old_size=old_size, old_root=_root(old_size), size=size, root=_root(size), proof=proof
    )


@pytest.mark.parametrize("size", SIZES)
def test_every_inclusion_proof_is_that_of_the_rfc_and_checks(size: int) -> None:
    for index in range(size):
        proof = tree.prove_inclusion(read, index=index, size=size)

        assert proof == rfc.path(index, LEAVES[:size])
        _includes(size, index, proof)


@pytest.mark.parametrize("size", SIZES)
def test_every_consistency_proof_is_that_of_the_rfc_and_checks(size: int) -> None:
    for old_size in range(1, size + 1):
        proof = tree.prove_consistency(read, old_size=old_size, size=size)

        assert proof == rfc.proof(old_size, LEAVES[:size])
        _extends(old_size, size, proof)


def _accepted(check: Check, size: int, number: int, proofs: Iterable[list[bytes]]) -> list[str]:
    """Return the proofs that check. Not with `pytest.raises`: 200 thousand take half a minute."""
    accepted = []
    for proof in proofs:
        try:
            check(size, number, proof)
        except (InclusionError, ConsistencyError, ShapeError):
            continue
        accepted.append(f"{number}, {size}: {[each.hex() for each in proof]}")
    return accepted


@pytest.mark.parametrize("size", SIZES)
def test_no_damaged_inclusion_proof_checks(size: int) -> None:
    for index in range(size):
        damaged = _damaged(rfc.path(index, LEAVES[:size]), size)

        assert _accepted(_includes, size, index, damaged) == []


@pytest.mark.parametrize("size", SIZES)
def test_no_damaged_consistency_proof_checks(size: int) -> None:
    for old_size in range(1, size + 1):
        damaged = _damaged(rfc.proof(old_size, LEAVES[:size]), size)

        assert _accepted(_extends, size, old_size, damaged) == []


@pytest.mark.parametrize("size", SIZES)
def test_a_proof_holds_for_no_other_leaf_place_or_root(size: int) -> None:
    for index in range(size):
        leaf, proof, root = LEAVES[index], rfc.path(index, LEAVES[:size]), _root(size)

        def at(size: int, other: int, proof: Sequence[bytes], leaf: bytes = leaf) -> None:
            check_inclusion(leaf, index=other, size=size, proof=proof, root=_root(size))

        for other in {*range(-1, size + 2)} - {index}:
            assert _accepted(at, size, other, [proof]) == []
        for leaf_, root_ in ((_flip(leaf, index), root), (leaf, _flip(root, index))):
            with pytest.raises(InclusionError):
                check_inclusion(leaf_, index=index, size=size, proof=proof, root=root_)


@pytest.mark.parametrize("size", SIZES)
def test_a_consistency_proof_holds_for_no_other_roots(size: int) -> None:
    for old_size in range(size + 1):
        proof = rfc.proof(old_size, LEAVES[:size]) if old_size else []
        old_root, root = _root(old_size), _root(size)
        wrong = [(_flip(old_root, 7), root)]
        if old_size:  # Every root extends the empty tree.
            wrong += [(old_root, _flip(root, 7))]
            wrong += [(root, old_root)] * (old_size < size)
        for first, second in wrong:
            with pytest.raises(ConsistencyError):
                check_consistency(
                    old_size=old_size, old_root=first, size=size, root=second, proof=proof
                )


@pytest.mark.parametrize("count", range(9))
def test_our_closed_form_judges_any_hashes_as_the_shifts_of_the_rfc_do(count: int) -> None:
    """Hashes of no tree at all, in every number: same verdict on their number, same root."""
    leaf, *proof = ANY_HASHES[: count + 1]
    for index, size in combinations(range(SIZE_MAX + 1), 2):
        root = rfc.inclusion_root(leaf, index, size, proof)
        if root is None:
            with pytest.raises(ShapeError):
                check_inclusion(leaf, index=index, size=size, proof=proof, root=STRANGER)
        else:
            check_inclusion(leaf, index=index, size=size, proof=proof, root=root)


@pytest.mark.parametrize("count", range(9))
def test_our_closed_form_judges_any_history_as_the_shifts_of_the_rfc_do(count: int) -> None:
    given, *proof = ANY_HASHES[: count + 1]
    for old_size, size in combinations(SIZES, 2):
        old_root, root = rfc.consistency_roots(old_size, size, given, proof) or (None, None)
        if old_root is None or root is None:
            with pytest.raises(ShapeError):
                check_consistency(
                    old_size=old_size, old_root=given, size=size, root=STRANGER, proof=proof
                )
        else:
            check_consistency(
                old_size=old_size, old_root=old_root, size=size, root=root, proof=proof
            )


def test_the_empty_tree_is_a_prefix_of_every_tree_and_needs_no_hashes() -> None:
    for size in range(SIZE_MAX + 1):
        assert tree.prove_consistency(read, old_size=0, size=size) == []
        _extends(0, size, [])
        with pytest.raises(ShapeError):
            _extends(0, size, [STRANGER])
        with pytest.raises(ConsistencyError):
            check_consistency(old_size=0, old_root=STRANGER, size=size, root=_root(size), proof=[])


def test_two_empty_trees_have_one_root() -> None:
    with pytest.raises(ConsistencyError):
        check_consistency(old_size=0, old_root=EMPTY_ROOT, size=0, root=STRANGER, proof=[])


@pytest.mark.parametrize("hash_", [b"", STRANGER[:-1], STRANGER + b"\0"])
def test_a_hash_has_32_bytes_wherever_it_is_hashed_or_stands_alone(hash_: bytes) -> None:
    with pytest.raises(ShapeError):
        check_inclusion(hash_, index=0, size=1, proof=[], root=hash_)
    with pytest.raises(ShapeError):
        check_consistency(old_size=0, old_root=EMPTY_ROOT, size=1, root=hash_, proof=[])
    with pytest.raises(ShapeError):
        check_consistency(old_size=1, old_root=hash_, size=2, root=STRANGER, proof=[STRANGER])


@pytest.mark.parametrize(("index", "size"), [(0, 0), (1, 1), (-1, 1), (70, 70)])
def test_no_proof_is_made_for_a_leaf_that_is_not_there(index: int, size: int) -> None:
    with pytest.raises(ShapeError) as caught:
        tree.prove_inclusion(read, index=index, size=size)

    assert caught.value.args == (index, size)


@pytest.mark.parametrize(("old_size", "size"), [(2, 1), (-1, 1), (1, 0)])
def test_no_proof_is_made_from_a_larger_tree_to_a_smaller_one(old_size: int, size: int) -> None:
    with pytest.raises(ShapeError) as caught:
        tree.prove_consistency(read, old_size=old_size, size=size)

    assert caught.value.args == (old_size, size)
    with pytest.raises(ShapeError):
        check_consistency(old_size=old_size, old_root=STRANGER, size=size, root=STRANGER, proof=[])
