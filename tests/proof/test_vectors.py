"""The values that other implementations publish: roots, hashes, and 196 proofs."""

import base64
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memlog.proof import (
    EMPTY_ROOT,
    ProofError,
    check_consistency,
    check_inclusion,
    leaf_hash,
    node_hash,
)
from projections.tree import root_of

VECTORS = Path(__file__).resolve().parents[3] / "shared" / "data" / "merkle" / "testdata"
needs_vectors = pytest.mark.skipif(
    not VECTORS.exists(), reason="../shared/data/merkle is not here: 196 vectors were not tried"
)

# The corpus of the RFC 6962 tests: certificate-transparency, Trillian, transparency-dev/merkle.
LEAVES = [
    b"",
    bytes.fromhex("00"),
    bytes.fromhex("10"),
    bytes.fromhex("2021"),
    bytes.fromhex("3031"),
    bytes.fromhex("40414243"),
    bytes.fromhex("5051525354555657"),
    bytes.fromhex("606162636465666768696a6b6c6d6e6f"),
]
ROOTS = [
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]


@pytest.mark.parametrize(("size", "root"), list(enumerate(ROOTS)))
def test_the_roots_are_those_of_the_rfc_6962_corpus(size: int, root: str) -> None:
    assert root_of(map(leaf_hash, LEAVES[:size])).hex() == root


def test_the_hasher_gives_the_hashes_of_the_rfc_6962_tests() -> None:
    assert hashlib.sha256().digest() == EMPTY_ROOT
    assert leaf_hash(b"L123456").hex().startswith("395aa064")
    assert node_hash(b"N123", b"N456").hex().startswith("aa217fe8")


def _vectors(kind: str) -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in sorted((VECTORS / kind).rglob("*.json"))]


def _hashes(vector: dict[str, Any]) -> list[bytes]:
    return [base64.b64decode(each) for each in vector["proof"] or []]


def _inclusion(vector: dict[str, Any]) -> None:
    check_inclusion(
        base64.b64decode(vector["leafHash"]),
        index=vector["leafIdx"],
        size=vector["treeSize"],
        proof=_hashes(vector),
        root=base64.b64decode(vector["root"]),
    )


def _consistency(vector: dict[str, Any]) -> None:
    check_consistency(
        old_size=vector["size1"],
        old_root=base64.b64decode(vector["root1"]),
        size=vector["size2"],
        root=base64.b64decode(vector["root2"]),
        proof=_hashes(vector),
    )


@needs_vectors
@pytest.mark.parametrize(
    ("kind", "check", "good"), [("inclusion", _inclusion, 6), ("consistency", _consistency, 6)]
)
def test_98_published_proofs_are_judged_as_their_authors_do(
    kind: str, check: Callable[[dict[str, Any]], None], good: int
) -> None:
    judged = []
    for vector in _vectors(kind):
        if vector["wantErr"]:
            with pytest.raises(ProofError):
                check(vector)
        else:
            check(vector)
        judged.append(vector["wantErr"])

    assert (len(judged), judged.count(False)) == (98, good)
