"""Pytest's settings of a repository, as far as a sealed suite needs them: those that decide how a planned test runs."""

from __future__ import annotations

import configparser
import shlex
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, cast

Read = Callable[[str], bytes | None]
"""A file by its path; None when there is none."""

FILES = {
    "pytest.toml": ("pytest",),
    ".pytest.toml": ("pytest",),
    "pytest.ini": ("pytest",),
    ".pytest.ini": ("pytest",),
    "pyproject.toml": ("tool.pytest", "tool.pytest.ini_options"),
    "tox.ini": ("pytest",),
    "setup.cfg": ("tool:pytest",),
}
"""Where pytest looks, in its order, and for which table or section."""
ENOUGH = frozenset({"pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml"})
"""Files that decide by being there, whatever is in them."""
KEPT = frozenset({
    "python_classes", "python_functions", "usefixtures", "markers", "xfail_strict", "strict_xfail",
    "consider_namespace_packages", "empty_parameter_set_mark",
})  # fmt: skip
FOR_PLUGINS = {
    "asyncio_mode": "pytest_asyncio.plugin",
    "asyncio_default_fixture_loop_scope": "pytest_asyncio.plugin",
    "anyio_mode": "anyio.pytest_plugin",
    "DJANGO_SETTINGS_MODULE": "pytest_django.plugin",
}
"""Settings that only mean something to a plugin, and its module."""
SPARE = frozenset({"pythonpath", "minversion", "testpaths"})
"""Settings that are used otherwise, or mean nothing where each test is named."""
CHOOSING = frozenset({"python_files", "python_classes", "python_functions", "norecursedirs", "collect_imported_tests"})
"""Settings that decide which tests there are."""
CHOOSING_OPTIONS = ("-k", "-m", "--ignore", "--deselect", "--doctest", "--pyargs", "-p", "--co", "--collect", "--lf")


@dataclass(frozen=True, slots=True)
class Settings:
    """Pytest's settings.

    Attributes:
        file: Where they were found; empty if nowhere.
        ini: Those that a sealed suite takes over, as an INI file; empty if none.
        pythonpath: Folders to import from, relative to the work folder.
        plugins: Modules of plugins that they need.
        choosing: Those that decide which tests there are.
        left_out: Names of those that are not taken over, or in part only.
    """

    file: str = ""
    ini: str = ""
    pythonpath: tuple[str, ...] = ()
    plugins: tuple[str, ...] = ()
    choosing: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


def read_settings(tests: Sequence[str], read: Read) -> Settings:
    """The settings that pytest would use for some files: of the nearest folder above all of them that has any."""
    for folder in _above(tests):
        for name, sections in FILES.items():
            file = str(folder / name)
            data = read(file)
            found = None if data is None else _values(name, data, sections)
            if found is not None:
                return _settings(file, folder, found)
    return Settings()


def _above(tests: Sequence[str]) -> list[PurePosixPath]:
    """The deepest folder that all files lie in, and those above it, as far as the work folder."""
    ways = [[PurePosixPath(test).parent, *PurePosixPath(test).parent.parents] for test in tests]
    return [folder for folder in ways[0] if all(folder in way for way in ways)] if ways else [PurePosixPath()]


def _values(name: str, data: bytes, sections: Sequence[str]) -> dict[str, list[str]] | None:
    """Settings as lists of lines; None when the file has none, so that pytest looks on."""
    text = data.decode("utf-8", "replace")
    try:
        if name.endswith(".toml"):
            tables = [_table(tomllib.loads(text), section) for section in sections]
            # `[tool.pytest]` also holds the table of the older form.
            found = {key: value for table in tables for key, value in (table or {}).items() if key != "ini_options"}
            given = name in ENOUGH or any(table is not None for table in tables)
            return {key: _lines(value) for key, value in found.items()} if given else None
        parsed = configparser.RawConfigParser(strict=False, allow_no_value=True, default_section="")
        parsed.optionxform = str  # pyright: ignore[reportAttributeAccessIssue] - names as they are written
        parsed.read_string(text)
    except (ValueError, configparser.Error):
        return {}  # pytest refuses it; a sealed suite does without
    for section in sections:
        if parsed.has_section(section):
            return {key: _lines(value or "") for key, value in parsed.items(section)}
    return {} if name in ENOUGH else None


def _table(data: Mapping[str, Any], path: str) -> Mapping[str, Any] | None:
    found: Any = data
    for part in path.split("."):
        found = cast("Mapping[str, Any]", found).get(part) if isinstance(found, Mapping) else None
    return cast("Mapping[str, Any]", found) if isinstance(found, Mapping) else None


def _lines(value: Any) -> list[str]:
    given = cast("list[Any]", value) if isinstance(value, list) else str(value).splitlines()
    return [text for each in given if (text := str(each).strip()) and text.isprintable()]


def _settings(file: str, folder: PurePosixPath, found: Mapping[str, Sequence[str]]) -> Settings:
    kept: dict[str, Sequence[str]] = {key: lines for key, lines in found.items() if key in KEPT}
    plugins = {FOR_PLUGINS[key]: None for key in found if key in FOR_PLUGINS}
    kept |= {key: lines for key, lines in found.items() if key in FOR_PLUGINS}
    filters = [line for line in found.get("filterwarnings", ()) if _is_plain(line)]
    if filters:
        kept["filterwarnings"] = filters
    options = _words(found.get("addopts", ()))
    modes = [word for word in options if word.startswith("--import-mode=")]
    if modes:
        kept["addopts"] = modes[-1:]
    left_out = [key for key, lines in found.items() if list(kept.get(key, ())) != list(lines) and key not in SPARE]
    lines = [f"{key} =\n" + "".join(f"    {line}\n" for line in values) for key, values in kept.items()]
    return Settings(
        file,
        "[pytest]\n" + "".join(lines) if kept else "",
        tuple(_inside(folder, path) for path in _words(found.get("pythonpath", ())) if _is_inside(path)),
        tuple(plugins),
        tuple(sorted(CHOOSING & found.keys())) + tuple(word for word in options if word.startswith(CHOOSING_OPTIONS)),
        tuple(left_out),
    )


def _words(lines: Sequence[str]) -> list[str]:
    words: list[str] = []
    for line in lines:
        try:
            words += shlex.split(line)
        except ValueError:
            words += line.split()
    return words


def _is_plain(line: str) -> bool:
    """Whether a filter of warnings names no class of a module that may be the agent's: pytest imports it at once."""
    category = (line.split(":") + [""] * 3)[2].strip()
    return "." not in category or category.startswith("pytest.")


def _is_inside(path: str) -> bool:
    return not path.startswith("/") and ".." not in PurePosixPath(path).parts


def _inside(folder: PurePosixPath, path: str) -> str:
    return str(folder / path)
