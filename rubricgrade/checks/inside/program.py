"""All Python of the sealed files together: whether any of it may change what the source of another says.

A name, an attribute or a constant can be set from another file than its own, and under a name that only data has. So
nothing is claimed of any file unless all that may run beside it keep to what can be looked through: few modules, no
private members, and nothing that sets or calls what is named by a value. Code that does more is no worse for it; its
exceptions only prove nothing.
"""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property
from importlib.machinery import PathFinder
from pathlib import Path

from rubricgrade.checks.inside.binding import Source

MODULES = frozenset({
    "__future__", "abc", "array", "ast", "base64", "binascii", "bisect", "bz2", "calendar", "cmath", "collections",
    "colorsys", "configparser", "contextlib", "copy", "csv", "dataclasses", "datetime", "decimal", "difflib", "email",
    "enum", "fnmatch", "fractions", "functools", "glob", "gzip", "hashlib", "heapq", "html", "io", "ipaddress",
    "itertools", "json", "lzma", "math", "mimetypes", "numbers", "operator", "os", "pathlib", "pprint",
    "random", "re", "secrets", "shlex", "shutil", "sqlite3", "statistics", "string", "struct", "subprocess", "tarfile",
    "tempfile", "textwrap", "time", "tomllib", "typing", "unicodedata", "urllib", "uuid", "warnings", "xml", "zipfile",
    "zlib", "zoneinfo",
})  # fmt: skip
"""Modules that set nothing on what they are given, but by the functions in `CHANGING`."""
CHANGING = frozenset({
    "ForwardRef", "ag_frame", "attrgetter", "breakpoint", "builtins", "cr_frame", "ctypes", "delattr",
    "enable_load_extension", "eval", "exec", "f_back", "f_builtins", "f_globals", "f_locals", "gc", "get_type_hints",
    "getattr", "gi_frame", "global_enum", "globals", "importlib", "inspect", "load_extension", "locals",
    "make_dataclass", "meta_path", "methodcaller", "modules", "path_hooks", "reload", "setattr", "site", "sys",
    "tb_frame", "types", "update_wrapper", "wraps",
})  # fmt: skip
"""What reaches members by a name that is a value, other modules' names, or code that stands in no sealed file."""
BARE = frozenset({"compile", "vars"})
"""The same, but harmless as members (`re.compile`, `case.vars`)."""
KNOWN = frozenset({"__all__", "__doc__", "__file__", "__name__"})
"""Special names that may be read."""
DEFINED = frozenset({
    "__bool__", "__contains__", "__enter__", "__eq__", "__exit__", "__ge__", "__gt__", "__hash__", "__init__",
    "__iter__", "__le__", "__len__", "__lt__", "__ne__", "__next__", "__post_init__", "__repr__", "__str__",
})  # fmt: skip
"""Special methods that don't decide which members there are."""
LIBRARIES = (".so", ".pyc", ".pyd", ".pth")
MOST_BYTES = 8 << 20
API = "rubricgrade"


class Program:
    """The sealed Python files that may run in one process.

    Args:
        files: Their sources by path.
        broken: Files that are no Python: an import of one fails, and does nothing else.
        opaque: Whether there is sealed code besides them that can't be read.
    """

    def __init__(
        self, files: Mapping[str, Source], broken: Collection[str] = frozenset(), *, opaque: bool = False
    ) -> None:
        self.files = files
        self._broken = broken
        self._opaque = opaque

    @classmethod
    def below(cls, folder: str, loaded: Iterable[str]) -> Program:
        """Those of a folder that are loaded, and all that these may import. What is no Python can't be imported.

        Nothing else can be loaded by a program that is `plain`.
        """
        files: dict[str, Source] = {}
        broken: set[str] = set()
        size = 0
        for path in [Path(at, name) for at, _, names in os.walk(folder) for name in names]:
            if path.suffix in LIBRARIES:
                return cls({}, opaque=True)
            if path.suffix != ".py":
                continue
            text = path.read_bytes()
            size += len(text)
            if size > MOST_BYTES:
                return cls({}, opaque=True)
            try:
                files[str(path)] = Source(text)
            except (SyntaxError, ValueError):
                broken.add(str(path))
            except (MemoryError, RecursionError):
                return cls({}, opaque=True)
        return cls(_reached(files, loaded), broken)

    @cached_property
    def plain(self) -> bool:
        """Whether no file does anything that may set members and names which don't stand in it."""
        return not self._opaque and all(self._is_plain(node) for _, node in self._nodes())

    def sets(self, name: object) -> bool:
        """Whether an attribute of a name, or an item with it as its key, is set or deleted in any file."""
        return any(source.assigns(name) for source in self.files.values())

    def brings(self, name: str) -> bool:
        """Whether a file may put a name into another: as an attribute, or as a module of a package."""
        return self.sets(name) or any(_module(file) == name for file in self.files)

    def binds(self, name: str) -> bool:
        """Whether a name stands in any file other than as the member of something."""
        return any(name in source.names for source in self.files.values())

    def refers(self, name: str) -> bool:
        """Whether any file reads a name, asks anything for it as a member, or imports it."""
        for _, node in self._nodes():
            match node:
                case ast.Name(id=found, ctx=ast.Load()) | ast.Attribute(attr=found) if found == name:
                    return True
                case _ if _is_taken_out(node, name):
                    return True
                case _:
                    pass
        return False

    def shares(self, name: str) -> bool:
        """Whether any file can get at a module's name from outside."""
        return any(
            _is_taken_out(node, name) or (isinstance(node, ast.Attribute) and node.attr == name)
            for _, node in self._nodes()
        )

    def only_looked_into(self, name: str) -> bool:
        """Whether whatever is called so as a member is only read by a subscript or `get`, in every file."""
        for source, node in self._nodes():
            if _is_taken_out(node, name):
                return False
            if isinstance(node, ast.Attribute) and node.attr == name and not _is_looked_into(source, node):
                return False
        return True

    def _nodes(self) -> Iterator[tuple[Source, ast.AST]]:
        return ((source, node) for source in self.files.values() for node in ast.walk(source.tree))

    def _is_plain(self, node: ast.AST) -> bool:
        match node:
            case ast.Name(id=name):
                return name not in BARE and _is_harmless(name)
            case ast.Attribute(attr="__init__", value=ast.Call(func=ast.Name(id="super"), args=[])):
                return True
            case ast.Attribute(attr=name, value=ast.Name(id="self" | "cls")) if not name.startswith("__"):
                return name not in CHANGING
            case ast.Attribute(attr=name):
                return _is_harmless(name) and (name in KNOWN or not name.startswith("_"))
            case ast.MatchClass(kwd_attrs=names):
                return all(_is_harmless(name) and not name.startswith("_") for name in names)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                return name in DEFINED or _is_harmless(name)
            case ast.ClassDef(keywords=keywords):
                return not keywords  # one may name a class of its class
            case ast.Import(names=names):
                return all(self._is_known(each.name) and _is_plain_alias(each) for each in names)
            case ast.ImportFrom(module=module, names=names, level=level):
                known = level > 0 or module == "__future__" or self._is_known(module or "")
                return known and all(_is_plain_alias(each) for each in names)
            case _:
                return True

    def _is_known(self, module: str) -> bool:
        root = module.partition(".")[0]
        if root in MODULES or module == API:
            return True
        if root in sys.stdlib_module_names or root == API:
            return False
        try:
            found = PathFinder.find_spec(root)
        except (ImportError, OSError, ValueError):
            return False
        # What is not there can't do anything, and a sealed one is looked through like the others.
        if found is None or found.origin in self.files or found.origin in self._broken:
            return True
        folders = [*(found.submodule_search_locations or ())] if found.origin is None else []
        return bool(folders) and all(any(file.startswith(f"{at}/") for file in self.files) for at in folders)


def _reached(files: Mapping[str, Source], loaded: Iterable[str]) -> dict[str, Source]:
    """The loaded files, and every file that is called like anything that one of them imports."""
    reached: dict[str, Source] = {}
    waiting = [file for file in loaded if file in files]
    while waiting:
        file = waiting.pop()
        if file not in reached:
            reached[file] = files[file]
            waiting += [other for other in files if _module(other) in files[file].imported]
    return reached


def _module(file: str) -> str:
    path = Path(file)
    return path.parent.name if path.stem == "__init__" else path.stem


def _is_harmless(name: str) -> bool:
    special = name.startswith("__") and name.endswith("__")
    return name in KNOWN if special else name.lstrip("_") not in CHANGING


def _is_plain_alias(alias: ast.alias) -> bool:
    """Whether it names what it imports (no star), and nothing private."""
    parts = [*alias.name.split("."), alias.asname or "as"]
    return all(part != "*" and _is_harmless(part) and not part.startswith("_") for part in parts)


def _is_taken_out(node: ast.AST, name: str) -> bool:
    """Whether an import from a module, or a pattern of a class, gets at a name."""
    match node:
        case ast.ImportFrom(names=names):
            return any(each.name == name for each in names)
        case ast.MatchClass(kwd_attrs=names):
            return name in names
        case _:
            return False


def _is_looked_into(source: Source, node: ast.Attribute) -> bool:
    parent = source.parent(node)
    if isinstance(parent, ast.Subscript):
        return parent.value is node and isinstance(parent.ctx, ast.Load)
    call = source.parent(parent)
    return (
        isinstance(parent, ast.Attribute)
        and parent.attr == "get"
        and isinstance(call, ast.Call)
        and call.func is parent
    )
