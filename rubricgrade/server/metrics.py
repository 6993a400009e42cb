"""What the server counts about itself, in Prometheus' text format."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from rubricgrade.result import Grade

SECONDS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160, 320)


class Metrics:
    """Counters of one server, in a registry of its own.

    Args:
        reading: Episodes of requests that are being read.
        waiting: Episodes that wait.
        in_flight: Episodes in work.
        held: Bytes of requests in memory.
        share: Ungraded share over the alarm's window.
        alarm: Whether the alarm is on.
    """

    def __init__(
        self,
        *,
        reading: Callable[[], float],
        waiting: Callable[[], float],
        in_flight: Callable[[], float],
        held: Callable[[], float],
        share: Callable[[], float],
        alarm: Callable[[], float],
    ) -> None:
        self._registry = CollectorRegistry()
        gauges = (
            ("reading", "Episodes of requests that are being read.", reading),
            ("waiting", "Episodes that were taken and wait.", waiting),
            ("in_flight", "Episodes in work.", in_flight),
            ("held_bytes", "Bytes of requests that are read or not yet answered.", held),
            ("ungraded_share", "Share of ungraded episodes over the alarm's window.", share),
            ("alarm", "1 while too many episodes are ungraded.", alarm),
        )
        for name, text, read in gauges:
            Gauge(f"rubricgrade_{name}", text, registry=self._registry).set_function(read)
        self._grades = self._counter("grades", "Episodes by how they ended.", "rubric", "status")
        self._ungraded = self._counter("ungraded", "Ungraded episodes by their first cause.", "cause")
        self._judge_errors = self._counter("judge_errors", "Judged criteria without a verdict, by cause.", "cause")
        self._refused = self._counter("refused", "Requests that were not taken.", "reason")
        self._calls = self._counter("judge_calls", "Calls to judges.")
        self._tokens = self._counter("judge_tokens", "Tokens of judges.", "kind")
        self._cost = self._counter("judge_cost_dollars", "What judging cost, as far as it is known.")
        self._unknown_cost = self._counter("unknown_cost", "Episodes whose cost is not known.")
        self._seconds = Histogram(
            "rubricgrade_seconds", "From taking an episode to its grade.", buckets=SECONDS, registry=self._registry
        )

    def graded(self, name: str, grade: Grade, seconds: float) -> None:
        """Count one episode.

        Args:
            name: Of its rubric, as the server knows it.
            grade: What came of it.
            seconds: From taking it to its end.
        """
        self._grades.labels(name, grade.status).inc()
        self._seconds.observe(seconds)
        if grade.status == "ungraded":
            self._ungraded.labels(grade.cause).inc()
        for leaf in grade.leaves():
            if leaf.by == "judge" and leaf.open and leaf.cause not in (None, "gate_failed"):
                self._judge_errors.labels(leaf.cause).inc()
        usage = grade.usage
        self._calls.inc(usage.calls)
        for kind in ("input", "cached", "output"):
            self._tokens.labels(kind).inc(getattr(usage, f"{kind}_tokens"))
        self._cost.inc(usage.cost or 0.0)
        self._unknown_cost.inc(usage.cost is None)

    def unread(self, name: str, cause: str) -> None:
        """Count one episode of a host that ended before there was anything to grade."""
        self._grades.labels(name, "ungraded").inc()
        self._ungraded.labels(cause).inc()

    def refused(self, reason: str) -> None:
        """Count one request that was not taken."""
        self._refused.labels(reason).inc()

    def text(self) -> bytes:
        """All of it, as Prometheus reads it."""
        return generate_latest(self._registry)

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(f"rubricgrade_{name}", text, labels, registry=self._registry)
