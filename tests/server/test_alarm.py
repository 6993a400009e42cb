"""When a server calls itself degraded."""

from __future__ import annotations

import logging

import pytest

from rubricgrade.server.alarm import FEWEST, MOST, Alarm


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def take(alarm: Alarm, ungraded: int, graded: int = 0) -> None:
    for number in range(ungraded + graded):
        alarm.take(ungraded=number < ungraded)


def test_it_is_on_above_the_threshold_and_not_at_it(caplog: pytest.LogCaptureFixture) -> None:
    alarm = Alarm(0.25, 60, Clock())
    take(alarm, 5, 15)
    assert (alarm.share, alarm.on) == (0.25, False)
    take(alarm, 1)
    assert alarm.on
    take(alarm, 0, 4)
    assert not alarm.on
    said = [(record.levelno, record.getMessage()) for record in caplog.records]
    assert said == [
        (logging.ERROR, "alarm on: 6 of the latest 21 episodes ungraded"),
        (logging.WARNING, "alarm off: 6 of the latest 24 episodes ungraded"),
    ]


def test_a_few_episodes_say_nothing() -> None:
    alarm = Alarm(0.0, 60, Clock())
    take(alarm, FEWEST - 1)
    assert (alarm.share, alarm.on) == (1.0, False)
    take(alarm, 1)
    assert alarm.on


def test_what_has_left_the_window_is_forgotten() -> None:
    clock = Clock()
    alarm = Alarm(0.5, 60, clock)
    take(alarm, 40)
    clock.now = 59
    take(alarm, 0, 40)
    assert (alarm.share, alarm.on) == (0.5, False)
    clock.now = 61
    assert alarm.share == 0
    clock.now = 200
    assert (alarm.share, alarm.on) == (0, False)


def test_it_remembers_a_bounded_number() -> None:
    alarm = Alarm(0.5, 60, Clock())
    take(alarm, MOST)
    take(alarm, 0, MOST)
    assert alarm.share == 0


def test_without_a_threshold_it_is_never_on() -> None:
    alarm = Alarm(None, 60, Clock())
    take(alarm, 100)
    assert (alarm.share, alarm.on) == (1.0, False)
