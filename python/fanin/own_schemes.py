"""One's own schemes: classes in Python, and shared libraries, beside the built-in schemes."""

from __future__ import annotations

import dataclasses
import hashlib
import importlib.util
import inspect
import json
import os
import re
import sys
import typing
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import ClassVar

from fanin import _core
from fanin._core import Balancer, Discipline, Receiver, Sender, SpecError, SwitchProgram
from fanin.spec import PS_OF_TIME


class Scheme:
    """The base class of one's own schemes: up to three roles, and what the network must know.

    A subclass names its roles, `Sender`, `Receiver` and `Switch`, which are classes that derive from `fanin.Sender`,
    `fanin.Receiver` and `fanin.SwitchProgram`, and a dataclass of its parameters, `Params`. Its docstring is its
    manual.
    """

    id: ClassVar[str] = ""
    """The name by which specs select it; by default that of the class, as `my-scheme` of `MyScheme`."""
    Params: ClassVar[type | None] = None
    """A dataclass whose fields are numbers, texts or booleans with defaults. They are keys of the spec. One with
    `metadata={"unit": "time"}` is written there as "5 us" and is 5000000 in the object; "rate", "bytes" likewise."""
    Sender: ClassVar[type[Sender] | None] = None
    """Runs per flow."""
    Receiver: ClassVar[type[Receiver] | None] = None
    """Runs per receiving host; without one, every ACK that is due goes out and echoes its packet's mark."""
    Switch: ClassVar[type[SwitchProgram] | None] = None
    """Runs per switch."""
    transport: ClassVar[str] = "rdma"
    """The endpoint that carries its flows unless the spec says otherwise: `rdma` or `tcp`."""
    wants_ecn: ClassVar[bool] = True
    """Whether its packets may be marked."""
    needs_marks: ClassVar[bool] = False
    """Whether it is not itself in a network that never marks; a warning says so."""
    telemetry: ClassVar[bool] = False
    """Whether switches write records into its data packets, which ACKs carry back."""
    header_data: ClassVar[int] = 0
    """Bytes that it adds to each data packet."""
    header_ack: ClassVar[int] = 0
    """Bytes that it adds to each ACK."""
    sharing: ClassVar[str] = "nothing"
    """Which flows of a host share the dictionary `Sender.shared`: `nothing`, `pair` (to one receiver) or `host`."""
    acks_once_per_rtt: ClassVar[bool] = False
    """Whether its receivers send an ACK per round-trip time instead of one per packet."""
    holds_acks: ClassVar[bool] = False
    """Whether its receivers decide about every ACK over TCP."""
    credits: ClassVar[tuple[int, int, int] | None] = None
    """The queue of its receivers' credits at every port: bytes of a credit, of a burst, and of the whole queue."""


@dataclasses.dataclass(frozen=True)
class Origin:
    """Where a scheme came from."""

    id: str
    reference: str | type[Scheme]
    """`FILE.py:CLASS`, the path of a library, or a class that no file of its own was read for."""
    digest: str
    """Of the file's content, so that results of an older version are not taken for those of this one."""


_loaded: dict[str, Origin] = {}

REFERENCE = re.compile(r"(?P<file>.+\.py):(?P<name>[A-Za-z_][A-Za-z_0-9.]*)")
"""How the command line names a class."""

LIBRARY = (".so", ".dylib", ".dll")
"""How the names of shared libraries end."""


def is_reference(name: str) -> bool:
    """Whether a name is no id of a scheme but says where one is: `FILE.py:CLASS`, or the path of a library."""
    return REFERENCE.fullmatch(name) is not None or name.endswith((*LIBRARY, ".py"))


def load_scheme(scheme: str | os.PathLike[str] | type[Scheme]) -> str:
    """Makes a scheme known to this process and returns its id, by which specs and commands may name it from then on.

    It is a subclass of `Scheme`, `"FILE.py:CLASS"`, or the path of a shared library (docs/own-scheme-c.md). One that
    was loaded before is loaded anew. Raises `SpecError` for one that is no scheme, and `OSError` for a file that cannot
    be read.
    """
    if isinstance(scheme, type):
        return _load_class(scheme, scheme, _digest_of_class(scheme))
    reference = os.fspath(scheme)
    if reference.endswith(LIBRARY):
        path = str(Path(reference).resolve())
        digest = hashlib.sha256(Path(path).read_bytes()).hexdigest()
        name = _core.load_library(path)
        _loaded[name] = Origin(name, path, digest)
        return name
    match = REFERENCE.fullmatch(reference)
    if match is None:
        raise SpecError(f"{reference}: a scheme of your own is FILE.py:CLASS, or a shared library like ./libmine.so")
    path = str(Path(match["file"]).resolve())
    content = Path(path).read_bytes()
    found = _named(match, _module(path, content), path)
    if not isinstance(found, type) or not issubclass(found, Scheme):
        raise SpecError(f"{match['file']}: {match['name']} is no subclass of fanin.Scheme{_others(path)}")
    return _load_class(found, f"{path}:{match['name']}", hashlib.sha256(content).hexdigest())


def _named(match: re.Match[str], module: object, path: str) -> typing.Any:
    """What a reference names in its file."""
    found: typing.Any = module
    for part in match["name"].split("."):
        found = getattr(found, part, None)
        if found is None:
            raise SpecError(f"{match['file']}: there is no class {match['name']} in it{_others(path)}")
    return found


def resolved(scheme: str | os.PathLike[str] | type[Scheme] | None) -> str | None:
    """The id of a scheme: loads it if it is one's own, given as a class or as a reference."""
    if scheme is None:
        return None
    if isinstance(scheme, str) and not is_reference(scheme):
        return scheme
    return load_scheme(scheme)


def policy(made: object) -> type[Balancer] | type[Discipline] | None:
    """The class of load balancing or of a queue discipline that this is, or names as `FILE.py:CLASS`; `None` for
    anything else, such as a scheme."""
    if isinstance(made, str | os.PathLike) and (match := REFERENCE.fullmatch(os.fspath(made))):
        path = str(Path(match["file"]).resolve())
        made = _named(match, _module(path, Path(path).read_bytes()), path)
    return made if isinstance(made, type) and issubclass(made, Balancer | Discipline) else None


def origins() -> tuple[Origin, ...]:
    """Where the schemes that are loaded came from, for other processes."""
    return tuple(_loaded.values())


def check_elsewhere(wanted: tuple[Origin, ...]) -> None:
    """Raises `SpecError` for a scheme that another process could not load: a class of a notebook or of a session."""
    for origin in wanted:
        scheme = origin.reference
        if isinstance(scheme, str):
            continue
        main = Path(getattr(sys.modules["__main__"], "__file__", ""))
        typed_in = scheme.__module__ == "__main__" and not main.is_file()
        if typed_in or "<locals>" in scheme.__qualname__:
            raise SpecError(
                f"{scheme.__qualname__}: other processes cannot load a class of a session or of a function; save it in "
                f'a file and name that, like "my_scheme.py:{scheme.__name__}" (in a notebook: %%writefile my_scheme.py)'
            )


def forget_schemes() -> None:
    """Forgets all schemes that were loaded, so that their ids are unknown again."""
    _loaded.clear()
    _core.forget_schemes()


def load_again(wanted: tuple[Origin, ...]) -> None:
    """Makes these schemes known to this process, unless they are."""
    for origin in wanted:
        if _loaded.get(origin.id) == origin:
            continue
        load_scheme(origin.reference)
        if _loaded[origin.id].digest != origin.digest:
            raise SpecError(f"{origin.reference}: the file has changed since the run was planned; start again")


MakesBalancer = str | Callable[[], Balancer]
"""A policy of load balancing: `FILE.py:CLASS`, or what makes one, like its class."""
MakesDiscipline = str | Callable[[], Discipline]
"""A queue discipline, likewise."""


def balancer(made: MakesBalancer | None) -> Callable[[], Balancer] | None:
    """What makes the balancer of each switch; raises `SpecError` for a reference that names none."""
    return typing.cast("Callable[[], Balancer] | None", _maker(made, Balancer))


def discipline(made: MakesDiscipline | None) -> Callable[[], Discipline] | None:
    """What makes the discipline of each switch; raises `SpecError` for a reference that names none."""
    return typing.cast("Callable[[], Discipline] | None", _maker(made, Discipline))


def _maker(made: typing.Any, base: type) -> object:
    if isinstance(made, str):
        match = REFERENCE.fullmatch(made)
        if match is None:
            raise SpecError(f"{made}: a program of your own is FILE.py:CLASS")
        path = str(Path(match["file"]).resolve())
        made = _named(match, _module(path, Path(path).read_bytes()), path)
    if made is not None and not callable(made):
        raise SpecError(f"{made!r} makes no {base.__name__}: give a class that derives from fanin.{base.__name__}")
    if isinstance(made, type) and not issubclass(made, base):
        raise SpecError(f"{made.__qualname__} is no subclass of fanin.{base.__name__}")
    return made


_MODULES = "fanin_scheme_"


def _module(path: str, content: bytes) -> object:
    name = _MODULES + hashlib.sha256(path.encode()).hexdigest()[:16]
    spec = importlib.util.spec_from_loader(name, loader=None, origin=path)
    if spec is None:
        raise SpecError(f"{path}: Python cannot make a module of it")
    module = importlib.util.module_from_spec(spec)
    module.__file__ = path
    # Dataclasses look their module up; pickles too.
    sys.modules[name] = module
    folder = str(Path(path).parent)
    sys.path.insert(0, folder)
    try:
        exec(compile(content, path, "exec"), module.__dict__)
    except Exception as error:
        line = _line_in(path, error)
        raise SpecError(f"{path}{line}: {type(error).__name__}: {error}") from error
    finally:
        sys.path.remove(folder)
    return module


def _line_in(path: str, error: Exception) -> str:
    """`:LINE` where an exception has to do with a line of this file."""
    if isinstance(error, SyntaxError) and error.filename == path:
        return f":{error.lineno}"
    trace, line = error.__traceback__, ""
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == path:
            line = f":{trace.tb_lineno}"
        trace = trace.tb_next
    return line


def _others(path: str) -> str:
    """The schemes that a file does have, for an error."""
    module = sys.modules.get(_MODULES + hashlib.sha256(path.encode()).hexdigest()[:16])
    found = (
        [
            name
            for name, value in vars(module).items()
            if isinstance(value, type) and issubclass(value, Scheme) and value.__module__ == module.__name__
        ]
        if module is not None
        else []
    )
    return f"; it has {', '.join(found)}" if found else "; write one: class MyScheme(fanin.Scheme)"


def _digest_of_class(scheme: type) -> str:
    try:
        return hashlib.sha256(inspect.getsource(scheme).encode()).hexdigest()
    except (OSError, TypeError):
        return f"{id(scheme):x}"


def _load_class(scheme: type, reference: str | type, digest: str) -> str:
    where = reference if isinstance(reference, str) else scheme.__qualname__
    if not issubclass(scheme, Scheme):
        raise SpecError(f"{where}: it is no subclass of fanin.Scheme")
    name = scheme.id or re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", scheme.__name__).lower().strip("_")
    try:
        defaults = _defaults(scheme)
        _core.load_class(scheme, _facts(scheme, name, defaults), lambda text: _params(scheme, json.loads(text)))
    except (ValueError, TypeError, OverflowError) as error:
        raise SpecError(f"{where}: {error}") from error
    _loaded[name] = Origin(name, reference, digest)
    return name


def _facts(scheme: type[Scheme], name: str, defaults: dict[str, object]) -> dict[str, object]:
    return {
        "id": name,
        "manual": _manual(scheme, name, defaults),
        "defaults": json.dumps(defaults, allow_nan=False),
        **{
            fact: getattr(scheme, fact)
            for fact in (
                "transport",
                "wants_ecn",
                "needs_marks",
                "telemetry",
                "header_data",
                "header_ack",
                "sharing",
                "acks_once_per_rtt",
                "holds_acks",
                "credits",
            )
        },
    }


def _manual(scheme: type[Scheme], name: str, defaults: dict[str, object]) -> str:
    text = inspect.cleandoc(scheme.__doc__ or "") if scheme.__doc__ is not Scheme.__doc__ else ""
    first, _, rest = text.partition("\n")
    title = f"# {name}: {first.rstrip('.')}" if first else f"# {name}: a scheme of your own"
    rows = []
    if fields := _fields(scheme):
        rows = ["", "## Parameters", "", "| name | default | meaning |", "|---|---|---|"]
        rows += [f"| `{field.name}` | {defaults[field.name]} | {field.metadata.get('doc', '')} |" for field in fields]
    return "\n".join([title, "", rest.strip(), *rows]) + "\n"


_KINDS: dict[type, str] = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}


def _kinds(scheme: type[Scheme]) -> dict[str, type]:
    """The type of each parameter."""
    params = scheme.Params
    if params is None:
        return {}
    if not dataclasses.is_dataclass(params):
        raise ValueError("Params is no dataclass: put @dataclass above it")
    hints = typing.get_type_hints(params)
    kinds: dict[str, type] = {}
    for field in dataclasses.fields(params):
        kind = hints[field.name]
        if kind not in _KINDS:
            raise ValueError(f"Params.{field.name} is a {kind}: it is an int, a float, a bool or a str")
        if field.default is dataclasses.MISSING:
            raise ValueError(f"Params.{field.name} has no default; every parameter has one")
        kinds[field.name] = kind
    return kinds


UNITS: dict[str, tuple[dict[str, int], str]] = {
    "time": (PS_OF_TIME, "5 us"),
    "rate": ({f"{prefix}bps": 1000**power for power, prefix in enumerate(("", "K", "M", "G", "T"))}, "10 Gbps"),
    "bytes": ({"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}, "4 KB"),
}
"""By `metadata={"unit": ...}` of a parameter: its units in ps, bit/s or bytes, and an example."""


def in_units(unit: str, text: str) -> int:
    """The number of picoseconds, bits per second or bytes of a text like "5 us", "10 Gbps" or "4 KB"; raises
    `ValueError`."""
    sizes, example = UNITS[unit]
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]+)\s*", text)
    number = Fraction(found[1]) * sizes[found[2]] if found is not None and found[2] in sizes else Fraction(1, 2)
    if number.denominator != 1:
        raise ValueError(f'{json.dumps(text)}: write it like "{example}"')
    return int(number)


def as_text(unit: str, number: float) -> str:
    """The text of such a number, in the largest unit in which it is whole."""
    sizes, _ = UNITS[unit]
    whole = sorted((size, name) for name, size in sizes.items() if number % size == 0)
    if not whole:
        raise ValueError(f"the default {number} has a part of a {min(sizes, key=lambda name: sizes[name])}")
    size, name = whole[-1] if number else whole[0]
    return f"{int(number) // size} {name}"


def _units(scheme: type[Scheme]) -> dict[str, str]:
    """The units of the parameters that have one."""
    found = {field.name: str(field.metadata["unit"]) for field in _fields(scheme) if "unit" in field.metadata}
    for name, unit in found.items():
        if unit not in UNITS:
            raise ValueError(f'Params.{name} has the unit "{unit}": it is one of {", ".join(UNITS)}')
    return found


def _fields(scheme: type[Scheme]) -> tuple[dataclasses.Field[typing.Any], ...]:
    return dataclasses.fields(scheme.Params) if dataclasses.is_dataclass(scheme.Params) else ()


def _defaults(scheme: type[Scheme]) -> dict[str, object]:
    if scheme.Params is None:
        return {}
    kinds = _kinds(scheme)
    if not kinds:
        return {}
    values = dataclasses.asdict(_params(scheme, {}))
    return values | {name: as_text(unit, values[name]) for name, unit in _units(scheme).items()}


def _params(scheme: type[Scheme], values: dict[str, object]) -> typing.Any:
    """An object of the parameters; raises `ValueError` for a value that is none."""
    if scheme.Params is None:
        return None
    given: dict[str, object] = {}
    units = _units(scheme)
    for name, kind in _kinds(scheme).items():
        if name not in values:
            continue
        value = values[name]
        if isinstance(value, str) and name in units and kind is not str:
            try:
                value = in_units(units[name], value)
            except ValueError as error:
                raise ValueError(f"{name} is {error}") from None
        fits = type(value) is kind or (kind is float and type(value) is int)
        if not fits:
            raise ValueError(f"{name} is {json.dumps(value)}: it must be {_KINDS[kind]}")
        given[name] = float(typing.cast("float", value)) if kind is float else value
    return scheme.Params(**given)


def tx_time(rate: int, size: int) -> int:
    """The time in picoseconds that `size` bytes take at a rate in bits per second, rounded up."""
    return -(-size * 8_000_000_000_000 // rate)


def bytes_in(rate: int, span: int) -> int:
    """The whole bytes that a rate in bits per second carries in a time in picoseconds."""
    return rate * span // 8_000_000_000_000
