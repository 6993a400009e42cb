"""What is kept of a stream, and conversations with a real command."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubricgrade.sandbox import BubblewrapProvider
from rubricgrade.sandbox.command import Capture
from rubricgrade.sandbox.live import BubblewrapSandbox

from .conftest import Use, opened, python, shell


@given(st.lists(st.binary(max_size=200)), st.integers(1, 300))
def test_a_capture_keeps_all_or_head_and_tail(chunks: list[bytes], limit: int) -> None:
    capture, whole = Capture(limit), b"".join(chunks)
    for chunk in chunks:
        capture.feed(chunk)
    kept = capture.result()
    assert capture.total == len(whole)
    if len(whole) <= limit:
        assert kept == whole
    else:
        assert len(kept) == limit
        head = limit - limit // 2
        assert kept[:head] == whole[:head]
        assert kept[head:] == whole[len(whole) - limit // 2 :]


def test_a_capture_of_a_long_stream_stays_small() -> None:
    capture = Capture(1000)
    for _ in range(2000):
        capture.feed(bytes(5000))
    assert capture.total == 10_000_000
    assert len(capture._tail) < 100_000


def test_a_conversation(use: Use) -> None:
    async def work(box: BubblewrapSandbox) -> None:
        process = await box.start(
            ["sh", "-c", "echo ready; read a; echo $a >&2; read b; echo last; printf rest; exit 5"]
        )
        assert await process.receive() == b"ready\n"
        await process.send(b"to stderr\n")
        await process.send(b"x\n")
        assert await process.receive() == b"last\n"
        assert await process.receive() == b"rest"
        assert await process.receive() == b""
        done = await process.finish()
        assert (done.code, done.stdout, done.stderr) == (5, b"", b"to stderr\n")

    use(work)


def test_finish_brings_what_was_not_received(use: Use) -> None:
    async def work(box: BubblewrapSandbox) -> None:
        process = await box.start(["sh", "-c", "echo one; echo two; cat"])
        assert await process.receive() == b"one\n"
        await process.send(b"three\n")
        done = await process.finish()
        assert done.stdout == b"two\nthree\n"
        assert done.ok

    use(work)


def test_a_talkative_command_waits_until_somebody_listens(use: Use) -> None:
    async def work(box: BubblewrapSandbox) -> None:
        process = await box.start(["sh", "-c", "seq 400000; echo x > done"], limit=10_000)
        assert await process.receive() == b"1\n"
        await asyncio.sleep(0.5)
        assert not (await shell(box, "test -e done")).ok
        for number in range(2, 1000):
            assert await process.receive() == b"%d\n" % number
        await process.kill()

    use(work)


def test_large_messages_both_ways(use: Use) -> None:
    async def work(box: BubblewrapSandbox) -> None:
        process = await box.start(["cat"])
        line = b"x" * 900_000 + b"\n"
        _, back = await asyncio.gather(process.send(line), process.receive())
        assert back == line
        assert (await process.finish()).ok

    use(work)


def test_a_line_over_the_limit_ends_the_command(use: Use) -> None:
    async def work(box: BubblewrapSandbox) -> None:
        for script in ("yes | tr -d '\\n'", "printf '%05000d\\n' 1; sleep 100"):
            process = await box.start(["sh", "-c", script])
            with pytest.raises(ValueError, match="more than 1000 bytes"):
                await process.receive(1000)
            assert (await process.finish()).code == 128 + 9

    use(work)


def test_writing_to_who_has_closed_its_input(use: Use) -> None:
    async def work(box: BubblewrapSandbox) -> None:
        process = await box.start(["sh", "-c", "exec <&-; echo closed; sleep 100"])
        assert await process.receive() == b"closed\n"
        with pytest.raises(BrokenPipeError):
            await process.send(bytes(1_000_000))
        await process.kill()
        with pytest.raises(BrokenPipeError):
            await process.send(b"x")

    use(work)


def test_a_silent_partner_is_ended_by_its_time_limit(use: Use) -> None:
    async def work(box: BubblewrapSandbox) -> None:
        process = await box.start(["sh", "-c", "printf half; sleep 100"], timeout=0.7)
        assert await process.receive() == b"half"
        assert await process.receive() == b""
        done = await process.finish()
        assert done.timed_out
        process = await box.start(["sleep", "100"], timeout=0.7)
        with pytest.raises(BrokenPipeError):
            await process.send(bytes(10_000_000))
        assert (await process.finish()).timed_out

    use(work)


def test_kill_takes_the_children_along(use: Use) -> None:
    async def work(box: BubblewrapSandbox) -> None:
        process = await box.start(["sh", "-c", "sleep 500 & echo $!; wait"])
        pid = int(await process.receive())
        await process.kill()
        assert not (await shell(box, f"kill -0 {pid}")).ok
        done = await process.finish()
        assert done.code == 128 + 9
        assert not done.timed_out

    use(work)


def test_an_unknown_program_is_told_by_finish(use: Use) -> None:
    async def work(box: BubblewrapSandbox) -> None:
        process = await box.start(["no-such-program"])
        assert await process.receive() == b""
        assert (await process.finish()).error == "not found: no-such-program"

    use(work)


def test_two_conversations_at_once_do_not_mix(provider: BubblewrapProvider) -> None:
    async def talk(box: BubblewrapSandbox, name: bytes) -> None:
        process = await box.start(["python3", "-u", "-c", "while True: print(input())"])
        for number in range(20):
            await process.send(name + b"%d\n" % number)
            assert await process.receive() == name + b"%d\n" % number
        await process.kill()

    async def main() -> None:
        async with opened(provider) as box:
            await asyncio.gather(*(talk(box, name) for name in (b"a", b"b", b"c")))

    asyncio.run(main())


def test_standard_input_is_empty_without_one(use: Use) -> None:
    assert use(lambda box: python(box, "import sys; print(repr(sys.stdin.read()))")).stdout == b"''\n"
