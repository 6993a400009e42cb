"""What anybody who works on a task can see in its fork: text files of the work folder, and whether git has them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rubricgrade.sandbox import Provider, Template

MOST_FILES = 2000
LIST = f"find . -xdev -type f -size -256k -not -path './.git/*' | head -n {MOST_FILES}"


@dataclass(frozen=True, slots=True)
class Seen:
    """What a fresh fork shows.

    Attributes:
        files: Text files below 256 KiB, by path in the work folder, at most `MOST_FILES`.
        repository: Whether the work folder is in a git repository.
    """

    files: Mapping[str, str]
    repository: bool


async def look(template: Template, provider: Provider, *, label: str) -> Seen:
    """Look around in a fork of its own.

    Raises:
        SandboxError: There are no sandboxes.
    """
    sandbox = await provider.open(template, label=label)
    try:
        listed = await sandbox.exec(["sh", "-c", LIST], timeout=60)
        files: dict[str, str] = {}
        for line in listed.stdout.decode("utf-8", "replace").splitlines():
            path = line.removeprefix("./")
            done = await sandbox.exec(["cat", "--", path], timeout=20)
            if done.ok and (text := as_text(done.stdout)) is not None:
                files[path] = text
        repository = (await sandbox.exec(["sh", "-c", "git rev-parse --git-dir"], timeout=20)).ok
    finally:
        await sandbox.close()
    return Seen(files, repository)


def as_text(data: bytes) -> str | None:
    """The text of a file; None if it is none."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None
