"""Lists of tables whose rows say no more than a name: each is loaded to see what it is, several at the same time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice


def tables_among(
    names: Iterable[str], after: str | None, limit: int | None, width: int, is_listed: Callable[[str], bool]
) -> Sequence[str]:
    """Return the first `limit` names after `after` that `is_listed`, in code point order.

    As many as `width` are looked at together, and with a limit hardly more than are needed for it.
    """
    following = sorted(name for name in names if after is None or name > after)
    size = max(1, len(following)) if limit is None else min(4 * width, max(limit, width))
    with ThreadPoolExecutor(width) as pool:
        return list(islice(_listed(_batches(following, size), is_listed, pool), limit))


def _listed(
    batches: Iterable[Sequence[str]], is_listed: Callable[[str], bool], pool: ThreadPoolExecutor
) -> Iterator[str]:
    """Yield the names that are listed, in order; all of a batch are looked at before the next."""
    for batch in batches:
        yield from (name for name, listed in zip(batch, pool.map(is_listed, batch), strict=True) if listed)


def _batches(names: Iterable[str], size: int) -> Iterator[list[str]]:
    remaining = iter(names)
    while batch := list(islice(remaining, size)):
        yield batch
