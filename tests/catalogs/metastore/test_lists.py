"""Lists whose names say nothing of the tables: sorted, bounded, and no further than a page needs."""

from __future__ import annotations

import threading

import pytest

from lanceway.catalogs.metastore.lists import tables_among

NAMES = [f"t{number:03}" for number in range(100)]


def test_names_come_in_order_after_the_last_one() -> None:
    assert tables_among(reversed(NAMES), None, None, 8, lambda name: name.endswith("5")) == NAMES[5::10]
    assert tables_among(NAMES, "t049", 3, 8, lambda name: name.endswith("5")) == ["t055", "t065", "t075"]
    assert tables_among([], None, 3, 8, lambda name: True) == []


@pytest.mark.parametrize("width", [1, 4])
def test_a_page_looks_at_little_more_than_it_shows(width: int) -> None:
    looked: list[str] = []

    def look(name: str) -> bool:
        looked.append(name)
        return True

    assert tables_among(NAMES, None, 2, width, look) == NAMES[:2]
    assert 2 <= len(looked) <= max(2, width)


def test_as_many_as_the_width_are_looked_at_together() -> None:
    """Three meet, which one after another could not; a fourth would find no place."""
    meeting, running, most = threading.Barrier(3), set[int](), list[int]()
    lock = threading.Lock()

    def look(name: str) -> bool:
        with lock:
            running.add(threading.get_ident())
            most.append(len(running))
        meeting.wait(30)
        with lock:
            running.discard(threading.get_ident())
        return True

    assert len(tables_among(NAMES[:9], None, None, 3, look)) == 9
    assert max(most) == 3


def test_a_failure_to_look_fails_the_list() -> None:
    def look(name: str) -> bool:
        raise ValueError(name)

    with pytest.raises(ValueError, match="t000"):
        tables_among(NAMES, None, None, 2, look)
