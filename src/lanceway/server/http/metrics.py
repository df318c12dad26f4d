"""Metrics for Prometheus: how many requests, how long they took, how many run.

With several processes each writes its numbers to a folder that they share, and the one that is asked adds them up.
The folder is chosen by `run.py` before this module is first imported, which is when prometheus_client looks for it.
"""

from __future__ import annotations

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from lanceway.server.http.request_context import RequestContext

CONTENT_TYPE = CONTENT_TYPE_LATEST
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_LABELS = ("operation", "status")


class Metrics:
    """The metrics of one application."""

    def __init__(self, *, shared: bool = False) -> None:
        self._shared = shared
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "lanceway_requests", "Requests, by operation and status.", _LABELS, registry=self._registry
        )
        self._seconds = Histogram(
            "lanceway_request_seconds",
            "Seconds until the last byte of the answer, by operation.",
            _LABELS[:1],
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._bytes = Counter(
            "lanceway_response_bytes", "Bytes of answers, by operation.", _LABELS[:1], registry=self._registry
        )
        self._running = Gauge(
            "lanceway_requests_in_flight",
            "Requests that run.",
            registry=self._registry,
            multiprocess_mode="livesum",
        )
        # A label is looked up under a lock; these are not.
        self._counters: dict[tuple[str, int], tuple[Counter, Histogram, Counter]] = {}

    def begin(self) -> None:
        self._running.inc()

    def end(self, context: RequestContext) -> None:
        self._running.dec()
        key = (context.operation, context.status)
        counters = self._counters.get(key)
        if counters is None:
            operation = context.operation
            counters = self._counters[key] = (
                self._requests.labels(operation, str(context.status)),
                self._seconds.labels(operation),
                self._bytes.labels(operation),
            )
        requests, seconds, sent = counters
        requests.inc()
        seconds.observe(context.seconds)
        sent.inc(context.sent)

    def page(self) -> bytes:
        """Return all metrics in the text format."""
        if not self._shared:
            return generate_latest(self._registry)
        registry = CollectorRegistry()
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return generate_latest(registry)
