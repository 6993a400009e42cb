"""Held-out tasks without what decides them: the hidden folders leave, encrypted with a key that travels another way.

The cipher is Fernet (AES-128-CBC with HMAC-SHA256, https://github.com/fernet/spec), by the `cryptography` package.
"""

from __future__ import annotations

import importlib
import os
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rubricgrade import digest, tree
from rubricgrade.delivery.records import HIDDEN, SEALED
from rubricgrade.errors import Fault, InputError, MissingExtraError


def new_key() -> bytes:
    """A key, as text of 44 characters.

    Raises:
        MissingExtraError: cryptography is not installed.
    """
    return _fernet().Fernet.generate_key()


def write_key(key: bytes, file: Path) -> None:
    """Write a key for its owner alone.

    Raises:
        InputError: The file is there: it may open another delivery.
    """
    try:
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        raise InputError(Fault("is there already, and may open another delivery", str(file))) from None
    except OSError as error:
        raise InputError(Fault(f"can't be written: {error.strerror or error}", str(file))) from None
    with os.fdopen(handle, "wb") as out:
        out.write(key + b"\n")


def read_key(file: Path) -> bytes:
    """Read a key.

    Raises:
        InputError: It can't be read.
    """
    try:
        return file.read_bytes().strip()
    except OSError as error:
        raise InputError(Fault(f"the key can't be read: {error.strerror or error}", str(file))) from None


def seal(task: Path, key: bytes) -> str:
    """Replace a task's hidden folders by one encrypted file.

    Returns:
        The hash of the archive, before it was encrypted.
    """
    with TemporaryDirectory() as place:
        archive = Path(place) / "sealed.tar.zst"
        tree.pack(_taken(task, Path(place) / "hidden"), archive)
        data = archive.read_bytes()
    (task / SEALED).write_bytes(_fernet().Fernet(key).encrypt(data))
    return digest.of_bytes(data)


def put_apart(task: Path, apart: Path) -> str:
    """Move a task's hidden folders to another place.

    Returns:
        The hash of what is there.
    """
    return tree.digest(_taken(task, apart))


def unseal(task: Path, key: bytes, into: Path) -> str:
    """Unpack a sealed task's hidden folders into a folder.

    Args:
        task: The held-out task of a delivery.
        key: Of the delivery.
        into: A folder that must not be there.

    Returns:
        The hash of the archive.

    Raises:
        InputError: There is nothing sealed, the key is another one, or the file was changed.
    """
    file = task / SEALED
    library = _fernet()
    try:
        data = library.Fernet(key).decrypt(file.read_bytes())
    except OSError as error:
        raise InputError(Fault(f"can't be read: {error.strerror or error}", str(file))) from None
    except (library.InvalidToken, ValueError):
        raise InputError(Fault("can't be opened: this is not its key, or it was changed", str(file))) from None
    with TemporaryDirectory() as place:
        archive = Path(place) / "sealed.tar.zst"
        archive.write_bytes(data)
        try:
            tree.unpack(archive, into)
        except (ValueError, OSError) as error:
            raise InputError(Fault(f"holds no task's hidden folders: {error}", str(file))) from None
    return digest.of_bytes(data)


def _taken(task: Path, to: Path) -> Path:
    to.mkdir(parents=True)
    for name in HIDDEN:
        if (task / name).is_dir():
            shutil.move(task / name, to / name)
    return to


def _fernet() -> Any:
    try:
        return importlib.import_module("cryptography.fernet")
    except ImportError as error:
        raise MissingExtraError("sealing held-out tasks", "delivery") from error
