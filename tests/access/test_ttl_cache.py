"""What is remembered, and for how long."""

from __future__ import annotations

from lanceway.access.authenticator import TtlCache
from tests.access.conftest import Clock


def test_it_forgets_in_time(clock: Clock) -> None:
    recent = TtlCache[str](10, clock)
    recent.keep(b"a", "x", 5)
    clock.time += 4.9
    assert recent.get(b"a") == "x"
    clock.time += 0.2
    assert recent.get(b"a") is None


def test_it_keeps_a_bounded_number_and_the_oldest_goes(clock: Clock) -> None:
    recent = TtlCache[int](3, clock)
    for number in range(3):
        recent.keep(bytes([number]), number, 5)
    recent.keep(bytes([0]), 10, 5)
    recent.keep(bytes([3]), 3, 5)
    assert [recent.get(bytes([number])) for number in range(4)] == [10, None, 2, 3]


def test_what_has_no_time_left_is_not_remembered(clock: Clock) -> None:
    recent = TtlCache[int](3, clock)
    recent.keep(b"a", 1, 0)
    recent.keep(b"b", 1, -1)
    assert recent.get(b"a") is recent.get(b"b") is None
