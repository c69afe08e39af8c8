"""What property tests of notes need: fixed clocks and ids, legal histories, a reference model.

    from memlog.testing import FixedClock, Model, given, open_log, tables_equal_fold
    from memlog.testing import strategies    # needs hypothesis, which the `test` extra brings

`docs/TESTING.md` shows how they are used. Nothing here is imported by the library itself.
"""

from memlog.testing.determinism import (
    LOG_ID as LOG_ID,
)
from memlog.testing.determinism import (
    START as START,
)
from memlog.testing.determinism import (
    CountingIds as CountingIds,
)
from memlog.testing.determinism import (
    FixedClock as FixedClock,
)
from memlog.testing.determinism import (
    StumblingClock as StumblingClock,
)
from memlog.testing.determinism import (
    open_log as open_log,
)
from memlog.testing.histories import (
    event as event,
)
from memlog.testing.histories import (
    events as events,
)
from memlog.testing.histories import (
    given as given,
)
from memlog.testing.histories import (
    record as record,
)
from memlog.testing.histories import (
    states as states,
)
from memlog.testing.model import (
    Model as Model,
)
from memlog.testing.model import (
    ScopeModel as ScopeModel,
)
from memlog.testing.tables import (
    tables_equal_fold as tables_equal_fold,
)

__all__ = [
    "LOG_ID",
    "START",
    "CountingIds",
    "FixedClock",
    "Model",
    "ScopeModel",
    "StumblingClock",
    "event",
    "events",
    "given",
    "open_log",
    "record",
    "states",
    "tables_equal_fold",
]
