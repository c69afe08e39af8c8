"""The proving half of an open log: verify it, sign it, prove what it says."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from memlog import fields
from memlog.errors import InvalidRequestError
from memlog.rebuild import Progress
from memlog.settings import Settings
from memlog.store.protocol import Store

if TYPE_CHECKING:
    from memlog.prove import Form
    from memlog.verify.report import Verification


class Proving:
    """What `memlog.Log` can show about itself.

    Attributes:
        target: what to call the store.
        log_id: the log's random UUID.
        settings: what it was opened with.
    """

    def __init__(self, store: Store, *, settings: Settings, index_dir: Path | None) -> None:
        self._store, self._index_dir = store, index_dir
        self.target, self.log_id, self.settings = store.target, store.log_id, settings

    def verify(
        self,
        *,
        skip: Sequence[str] = (),
        checkpoints: Mapping[str, bytes] | None = None,
        keys: Sequence[str] = (),
        progress: Progress | None = None,
    ) -> Verification:
        """Check everything that is stored, and say what is wrong and where the damage begins.

        Nothing is changed. Damage is a finding, never an exception. Everything is of one moment;
        others may write meanwhile. Memory does not grow with the log, except that of one search
        index at a time. Of a large log in a file, a second Python process looks at the tables.

        Args:
            skip: checks to leave out, of `pages`, `index`, `sections` and `words`.
            checkpoints: signed checkpoints that were kept elsewhere, each under a name; the log
                must begin as they say. The way to find a rewritten history, or an older copy.
            keys: vkeys; each of those checkpoints must be signed by one.
            progress: called with (events done, events to do) about every 1,000 events.

        Raises:
            InvalidRequestError: a check of `skip` cannot be left out, or a key is none.
            StoreFullError: no room for a temporary file, which a large log needs.
        """
        from memlog.verify.opening import file_of
        from memlog.verify.run import Asked, verifier_keys, verify

        fields.listed("skip", skip)
        fields.listed("keys", keys)
        if checkpoints is not None and not isinstance(checkpoints, Mapping):
            raise InvalidRequestError("checkpoints", checkpoints, "give each under a name")
        fields.function("progress", progress)
        asked = Asked(
            target=self.target,
            index_dir=self._index_dir,
            skip=skip,
            saved=checkpoints or {},
            keys=verifier_keys(keys),
            progress=progress,
            later=self._store.reading,
            file=file_of(self._store.path, timeout_s=self.settings.lock_timeout_s),
        )
        with self._store.reading() as cursor:
            return verify(cursor, asked)

    def checkpoint(
        self,
        key_file: str | PathLike[str],
        *,
        full: bool = False,
        progress: Progress | None = None,
    ) -> bytes:
        """Sign the log's size and root, and return the signed note (c2sp.org/tlog-checkpoint).

        What came since the last checkpoint of this key is verified first, and that the log still
        begins as the last checkpoint says: the one in the store and the one beside the key. Both
        are replaced. Where nothing was appended since, the last one is returned.

        Args:
            key_file: a file that `memlog keygen` made; the origin is its name, `/`, the log's id.
            full: verify the whole log, with the notes made from it, not only what came since.
            progress: called with (events done, events to do).

        Raises:
            UnsignableError: the log does not verify, or does not continue what was signed.
            InvalidRequestError: the key file is none, or others may read it.
            ReadOnlyError: the log was opened for reading.
        """
        from memlog.checkpoint import Signing, sign_checkpoint
        from memlog.signing import SigningKey

        path = Path(os.path.realpath(key_file))  # So that a link to it finds the same copy.
        key = SigningKey.load(path)
        signing = Signing(key=key, key_file=path, full=full, progress=progress)
        return sign_checkpoint(self._store, signing)

    def prove(
        self,
        position: int,
        *,
        form: Form = "bundle",
        withhold: bool = False,
        checkpoint: bytes | None = None,
    ) -> bytes:
        """Return the proof that an event is in the log, for somebody who has no access to it.

        Args:
            position: the event's place in the log.
            form: `bundle`, which holds the event too, or `tlog-proof`, for whoever has its bytes.
            withhold: leave salt and payload out of the bundle.
            checkpoint: the signed checkpoint to prove it under; the last one when None.

        Raises:
            InvalidRequestError: no checkpoint covers the position, or that is no checkpoint.
            DamageError: the event, or the tree, is not as it was when it was signed.
        """
        from memlog.prove import prove_event

        fields.whole("position", position, low=1)
        with self._store.reading() as cursor:
            return prove_event(
                cursor,
                position,
                log_id=self.log_id,
                form=form,
                withhold=withhold,
                checkpoint=checkpoint,
            )

    def prove_consistency(self, old: bytes) -> bytes:
        """Return the proof that the log of an older checkpoint is a beginning of this one.

        Args:
            old: a signed checkpoint of this log; the later one is the last in the store.

        Raises:
            InvalidRequestError: it is none of this log, or no later one was signed.
            DamageError: the log does not continue it.
        """
        from memlog.prove import prove_consistency

        with self._store.reading() as cursor:
            return prove_consistency(cursor, old, log_id=self.log_id)
