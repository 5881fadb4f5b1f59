"""One's own schemes, load balancing and queue disciplines: classes in Python, and shared libraries, beside the built-in
ones."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import importlib.util
import inspect
import json
import os
import pickle
import re
import sys
import typing
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from fractions import Fraction
from pathlib import Path
from typing import ClassVar, Literal

from fanin import _core, own_checks
from fanin._core import Balancer, Discipline, PathSelector, Receiver, Sender, SpecError, SwitchProgram
from fanin.arguments import given
from fanin.spec import PS_OF_TIME, Spec, named, section, traffics, used


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


Kind = Literal["scheme", "balancing", "discipline"]
"""What can be loaded: a scheme; or what `network.balancing` or `network.discipline` names."""

Loadable = type[Scheme] | type[Balancer] | type[PathSelector] | type[Discipline]
"""A class of one's own."""

LoadableLike = str | os.PathLike[str] | Loadable
"""A class of one's own, `FILE.py:CLASS`, the path of a shared library, or, where one is named, an id."""

_KINDS: dict[Kind, tuple[tuple[type, ...], str]] = {
    "scheme": ((Scheme,), "a scheme"),
    "balancing": ((Balancer, PathSelector), "load balancing"),
    "discipline": ((Discipline,), "a queue discipline"),
}
"""The base classes of each kind, and what one is called. A network's load balancing is that of switches or of
senders."""

_NO_SUBCLASS = "is no subclass of fanin.Scheme, fanin.Balancer, fanin.PathSelector or fanin.Discipline"

_ROLES: dict[str, type] = {"Sender": Sender, "Receiver": Receiver, "Switch": SwitchProgram}
"""The base class of each role of a scheme."""


@dataclasses.dataclass(frozen=True)
class Origin:
    """Where a scheme or a policy came from."""

    kind: Kind
    id: str
    reference: str | Loadable
    """`FILE.py:CLASS`, the path of a library, or a class that no file of its own was read for."""
    digest: str
    """Of the file's content, so that results of an older version are not taken for those of this one."""

    @property
    def in_python(self) -> bool:
        """Whether it is a class in Python, and no library."""
        return not isinstance(self.reference, str) or LIBRARY.fullmatch(self.reference) is None


_loaded: dict[tuple[Kind, str], Origin] = {}

_together: ContextVar[dict[tuple[Kind, str], Origin] | None] = ContextVar("_together", default=None)
"""What was loaded for what goes on now, where each id must mean one thing."""


@contextmanager
def each_id_once() -> Iterator[None]:
    """Within it two different schemes or policies of one's own must not have the same id, of which one would be taken
    for the other: loading the second raises `SpecError`. Otherwise the one that was loaded last has the id."""
    if _together.get() is not None:
        yield
        return
    before = _together.set({})
    try:
        yield
    finally:
        _together.reset(before)


def _remember(origin: Origin) -> None:
    """Notes what was loaded; raises `SpecError` where `each_id_once` forbids it."""
    key = (origin.kind, origin.id)
    _loaded[key] = origin
    together = _together.get()
    if together is None:
        return
    other = together.setdefault(key, origin)
    if other.reference != origin.reference:
        raise SpecError(
            f'{_shown(origin.reference)} and {_shown(other.reference)} both have the id "{origin.id}": give one of '
            f'them another one, like id = "{origin.id}-2"'
        )


def _shown(reference: str | Loadable) -> str:
    return reference if isinstance(reference, str) else f"{reference.__module__}.{reference.__qualname__}"


REFERENCE = re.compile(r"(?P<file>.+\.py):(?P<name>[A-Za-z_][A-Za-z_0-9.]*)")
"""How the command line names a class."""

LIBRARY = re.compile(r".+\.(so(\.\d+)*|dylib|dll)")
"""How the names of shared libraries end."""


def is_reference(name: str) -> bool:
    """Whether a name is no id of a scheme but says where one is: `FILE.py:CLASS`, or a path, which an id is never."""
    if REFERENCE.fullmatch(name) is not None or LIBRARY.fullmatch(name) is not None or name.endswith(".py"):
        return True
    return "/" in name or os.sep in name or ("." in name and Path(name).exists())


def load_scheme(scheme: LoadableLike) -> str:
    """Makes a scheme, load balancing or a queue discipline known to this process and returns its id, by which specs and
    commands may name it from then on.

    It is a subclass of `Scheme`, `Balancer`, `PathSelector` or `Discipline`, `"FILE.py:CLASS"`, or the path of a shared
    library (docs/own-scheme-c.md); of a library with several of them the id is that of its scheme, if it has one. One
    that was loaded before is loaded anew. Raises `SpecError` for one that is none of these, and `OSError` for a file
    that cannot be read.
    """
    ids = loaded_ids(scheme)
    return next(ids[kind] for kind in _KINDS if kind in ids)


def loaded_ids(own: LoadableLike) -> dict[Kind, str]:
    """Loads it, and returns the ids of what it has: one, or several if it is a library, its scheme first."""
    if isinstance(own, type):
        return _load_class(own, own, _digest_of_class(own))
    reference = os.fspath(own)
    if LIBRARY.fullmatch(reference) is not None:
        path = str(Path(reference).resolve())
        digest = hashlib.sha256(Path(path).read_bytes()).hexdigest()
        found = _core.load_library(path)
        ids = {kind: found[kind] for kind in _KINDS if kind in found}
        for kind, name in ids.items():
            _remember(Origin(kind, name, path, digest))
        return ids
    match = REFERENCE.fullmatch(reference)
    if match is None:
        Path(reference).stat()
        raise SpecError(
            f"{reference}: a scheme of your own is FILE.py:CLASS, or a shared library like ./libmine.so, whose name "
            "ends in .so, .so.1, .dylib or .dll"
        )
    path = str(Path(match["file"]).resolve())
    content = Path(path).read_bytes()
    found = _named(match, _module(path, content), path)
    if _kind_of(found) is None:
        raise SpecError(f"{match['file']}: {match['name']} {_NO_SUBCLASS}{_others(path)}")
    return _load_class(found, f"{path}:{match['name']}", hashlib.sha256(content).hexdigest())


def _kind_of(found: object) -> Kind | None:
    """The kind of a class, if it is one of one's own."""
    kinds = (kind for kind, (bases, _) in _KINDS.items() if isinstance(found, type) and issubclass(found, bases))
    return next(kinds, None)


def _named(match: re.Match[str], module: object, path: str) -> typing.Any:
    """What a reference names in its file."""
    found: typing.Any = module
    for part in match["name"].split("."):
        found = getattr(found, part, None)
        if found is None:
            raise SpecError(f"{match['file']}: there is no class {match['name']} in it{_others(path)}")
    return found


def resolved(own: LoadableLike | object | None, kind: Kind = "scheme") -> str | None:
    """The id of a scheme or a policy: loads it if it is one's own, given as a class or as a reference."""
    if own is None:
        return None
    if isinstance(own, str) and not is_reference(own):
        return own
    if not isinstance(own, str | os.PathLike | type):
        base = {"scheme": "fanin.Scheme", "balancing": "fanin.Balancer or fanin.PathSelector"}
        bases = base.get(kind, "fanin.Discipline")
        example = {"scheme": "dcqcn", "balancing": "random"}.get(kind)
        first = f'the id of one, like "{example}", ' if example else ""
        word = {"scheme": "scheme", "balancing": "load balancing"}.get(kind, "queue discipline")
        raise TypeError(
            f"{kind}: {given(own)} is no {word}; give {first}a class that derives from {bases}, or FILE.py:CLASS"
        )
    ids = loaded_ids(own)
    if kind not in ids:
        has = " and ".join(f'{_KINDS[other][1]}, "{name}"' for other, name in ids.items())
        where = own.__qualname__ if isinstance(own, type) else os.fspath(own)
        raise SpecError(f"{where}: it is not {_KINDS[kind][1]}, but {has}")
    return ids[kind]


def policy_changes(balancing: LoadableLike | None, discipline: LoadableLike | None) -> list[str]:
    """The changes of a spec, `key=value`, that select load balancing and a queue discipline, which are loaded if they
    are one's own; none for `None`."""
    wanted: dict[Kind, LoadableLike | None] = {"balancing": balancing, "discipline": discipline}
    names = {kind: resolved(own, kind) for kind, own in wanted.items()}
    return [f"network.{kind}={json.dumps(name)}" for kind, name in names.items() if name is not None]


def all_known() -> dict[Kind, list[Mapping[str, object]]]:
    """The schemes, built in or loaded, and the loaded policies: their ids and manuals."""
    known: dict[Kind, list[Mapping[str, object]]] = {"scheme": [*_core.schemes()]}
    kinds: tuple[Literal["balancing", "discipline"], ...] = ("balancing", "discipline")
    for kind in kinds:
        known[kind] = [{"id": name, "manual": manual} for name, manual in _core.policies(kind)]
    return known


def need_loaded(spec: Spec, place: str) -> None:
    """Raises `SpecError` for a scheme or a policy of a resolved spec that is not known to this process; `place` is that
    of the spec in the message."""
    network = section(spec, "network")
    wanted: list[tuple[Kind, str, object]] = [
        ("scheme", f"traffic.{traffic['name']}.scheme", traffic["scheme"]) for traffic in traffics(spec)
    ]
    # A policy of one's own is a table where it has parameters; otherwise the native module tells.
    policies: tuple[Literal["balancing", "discipline"], ...] = ("balancing", "discipline")
    wanted += [(kind, f"network.{kind}", network[kind]) for kind in policies if isinstance(network.get(kind), dict)]
    known = all_known()
    for kind, key, choice in wanted:
        if all(row["id"] != named(choice) for row in known[kind]):
            raise SpecError(
                f'{place}: {key}: "{named(choice)}" is not loaded; load it with --load FILE.py:CLASS or '
                "fanin.load_scheme"
            )


def origins() -> tuple[Origin, ...]:
    """Where what is loaded came from, for other processes."""
    return tuple(_loaded.values())


def used_of(own: tuple[Origin, ...], spec: Spec) -> tuple[Origin, ...]:
    """Those of them that a resolved spec names."""
    ids = used(spec)
    return tuple(origin for origin in own if origin.id in ids[origin.kind])


def check_elsewhere(wanted: tuple[Origin, ...]) -> None:
    """Raises `SpecError` for a class that another process could not load: one of a notebook or of a session."""
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


def packed(wanted: tuple[Origin, ...]) -> str:
    """What another process needs to load these by `load_packed`, as one line of text.

    Raises `SpecError` for a class that no other process could load, as `check_elsewhere` does.
    """
    check_elsewhere(wanted)
    return json.dumps([sys.path, base64.b64encode(pickle.dumps(tuple(map(_in_a_file, wanted)))).decode()])


def _in_a_file(origin: Origin) -> Origin:
    """The same with a class of the program itself by its file, since another process is another program."""
    own = origin.reference
    if isinstance(own, str) or own.__module__ != "__main__":
        return origin
    file = Path(str(sys.modules["__main__"].__file__)).resolve()
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    return dataclasses.replace(origin, reference=f"{file}:{own.__qualname__}", digest=digest)


def load_packed(text: str) -> None:
    """Makes what `packed` told known to this process, which finds modules where that one did."""
    sys.path, own = json.loads(text)
    load_again(pickle.loads(base64.b64decode(own)))


def forget_schemes() -> None:
    """Forgets all that was loaded, so that its ids are unknown again."""
    _loaded.clear()
    _core.forget_schemes()


def load_again(wanted: tuple[Origin, ...]) -> None:
    """Makes these known to this process, unless they are."""
    for origin in wanted:
        if _loaded.get((origin.kind, origin.id)) == origin:
            continue
        loaded_ids(origin.reference)
        if _loaded[origin.kind, origin.id].digest != origin.digest:
            raise SpecError(f"{origin.reference}: the file has changed since the run was planned; start again")


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
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise SpecError(f"{path}{_line_in(path, error)}: {own_checks.described(error)}") from error
    finally:
        sys.path.remove(folder)
    return module


def _line_in(path: str, error: BaseException) -> str:
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
    """The classes that a file does have, for an error."""
    module = sys.modules.get(_MODULES + hashlib.sha256(path.encode()).hexdigest()[:16])
    found = (
        [
            name
            for name, value in vars(module).items()
            if _kind_of(value) is not None and value.__module__ == module.__name__
        ]
        if module is not None
        else []
    )
    return f"; it has {', '.join(found)}" if found else "; write one: class MyScheme(fanin.Scheme)"


def _digest_of_class(own: type) -> str:
    try:
        return hashlib.sha256(inspect.getsource(own).encode()).hexdigest()
    except (OSError, TypeError):
        return f"{id(own):x}"


def _load_class(own: type, reference: str | Loadable, digest: str) -> dict[Kind, str]:
    where = reference if isinstance(reference, str) else own.__qualname__
    kind = _kind_of(own)
    if kind is None:
        raise SpecError(f"{where}: it {_NO_SUBCLASS}")
    own = typing.cast("Loadable", own)
    try:
        _check(own)
        name = own.id or re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", own.__name__).lower().strip("_")
        defaults = _defaults(own)
        facts: dict[str, object] = {
            "id": name,
            "manual": _manual(own, name, defaults),
            "defaults": json.dumps(defaults, allow_nan=False),
        }
        if issubclass(own, Scheme):
            facts |= {fact: getattr(own, fact) for fact in _FACTS}
        load = _core.load_class if issubclass(own, Scheme) else _core.load_policy
        load(own, facts, lambda text: _params(own, json.loads(text)))
    except (ValueError, TypeError, OverflowError) as error:
        raise SpecError(f"{where}: {error}") from error
    _remember(Origin(kind, name, reference, digest))
    return {kind: name}


def _check(own: Loadable) -> None:
    """Raises `ValueError` for what can be seen to be wrong with a class."""
    if issubclass(own, Scheme):
        own_checks.check_scheme(own, Scheme, _ROLES)
        return
    bases: tuple[type[Balancer | PathSelector | Discipline], ...] = (Balancer, PathSelector, Discipline)
    (base,) = (base for base in bases if issubclass(own, base))
    if not isinstance(own.id, str):
        raise ValueError(f"id = {own.id!r}: it is a text")
    own_checks.check_role(own, base)
    if base is Balancer:
        own_checks.need_hook(own, base, ["choose"], "def choose(self, packet, hash, choices)")
    elif base is PathSelector:
        own_checks.need_hook(own, base, ["next_path"], "def next_path(self, number, window)")
    else:
        own_checks.need_hook(own, base, ["on_enqueue", "on_dequeue"], "def on_enqueue(self, queued), for example")


_FACTS = (
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
"""What the network must know of a scheme."""


def _manual(own: Loadable, name: str, defaults: dict[str, object]) -> str:
    bases, called = _KINDS[typing.cast("Kind", _kind_of(own))]
    text = inspect.cleandoc(own.__doc__ or "") if own.__doc__ not in [base.__doc__ for base in bases] else ""
    first, _, rest = text.partition("\n")
    title = f"# {name}: {first.rstrip('.')}" if first else f"# {name}: {called} of your own"
    rows = []
    if fields := _fields(own):
        rows = ["", "## Parameters", "", "| name | default | meaning |", "|---|---|---|"]
        rows += [f"| `{field.name}` | {defaults[field.name]} | {field.metadata.get('doc', '')} |" for field in fields]
    return "\n".join([title, "", rest.strip(), *rows]) + "\n"


_TYPES: dict[type, str] = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}


def _kinds(own: Loadable) -> dict[str, type]:
    """The type of each parameter."""
    params = own.Params
    if params is None:
        return {}
    own_checks.check_class("Params", params)
    if not dataclasses.is_dataclass(params):
        raise ValueError("Params is no dataclass: put @dataclass above it")
    try:
        hints = typing.get_type_hints(params)
    except Exception as error:
        raise ValueError(f"the types in Params cannot be read: {own_checks.described(error)}") from error
    kinds: dict[str, type] = {}
    for field in dataclasses.fields(params):
        kind, where = hints[field.name], f"Params.{field.name}"
        if field.name == "id":
            raise ValueError(f"{where}: a spec has the id of the scheme under this name; call the parameter otherwise")
        if kind not in _TYPES:
            said = kind.__name__ if isinstance(kind, type) else kind
            raise ValueError(f"{where} is a {said}: it is an int, a float, a bool or a str")
        for known in ("unit", "doc"):
            if f"{known}s" in field.metadata:
                raise ValueError(f'{where} has the metadata "{known}s", which means nothing; did you mean "{known}"?')
        if field.default is dataclasses.MISSING:
            raise ValueError(f"{where} has no default; every parameter has one")
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


def _units(own: Loadable) -> dict[str, str]:
    """The units of the parameters that have one."""
    found = {field.name: str(field.metadata["unit"]) for field in _fields(own) if "unit" in field.metadata}
    for name, unit in found.items():
        if unit not in UNITS:
            raise ValueError(f'Params.{name} has the unit "{unit}": it is one of {", ".join(UNITS)}')
    return found


_IN_UNITS = {"time": "picoseconds", "rate": "bits per second", "bytes": "bytes"}
"""What the number of a parameter with a unit counts."""


def _check_defaults(own: Loadable, values: Mapping[str, object]) -> None:
    """Raises `ValueError` for a default that is no value of its parameter."""
    units = _units(own)
    for name, kind in _kinds(own).items():
        where, value = f"Params.{name}", values[name]
        if name in units:
            if kind not in (int, float):
                raise ValueError(f'{where} has the unit "{units[name]}", and so it is an int or a float')
            if isinstance(value, str):
                _, example = UNITS[units[name]]
                raise ValueError(
                    f"{where} has the default {value!r}: write a number of {_IN_UNITS[units[name]]}, like "
                    f"{in_units(units[name], example)} for {example}; only specs have it as a text"
                )
        own_checks.check_default(where, value, kind, _TYPES[kind])


def _fields(own: Loadable) -> tuple[dataclasses.Field[typing.Any], ...]:
    return dataclasses.fields(own.Params) if dataclasses.is_dataclass(own.Params) else ()


def _defaults(own: Loadable) -> dict[str, object]:
    if own.Params is None:
        return {}
    if not _kinds(own):
        return {}
    _check_defaults(own, {field.name: field.default for field in _fields(own)})
    values = dataclasses.asdict(_params(own, {}))
    _check_defaults(own, values)
    return values | {name: as_text(unit, values[name]) for name, unit in _units(own).items()}


def _params(own: Loadable, values: dict[str, object]) -> typing.Any:
    """An object of the parameters; raises `ValueError` for a value that is none."""
    if own.Params is None:
        return None
    given: dict[str, object] = {}
    units = _units(own)
    for name, kind in _kinds(own).items():
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
            raise ValueError(f"{name} is {json.dumps(value)}: it must be {_TYPES[kind]}")
        given[name] = float(typing.cast("float", value)) if kind is float else value
    params = own.Params
    path = getattr(sys.modules.get(params.__module__), "__file__", None)
    return own_checks.called_by_us(f"its parameters, {params.__qualname__}", path, lambda: params(**given))


def tx_time(rate: int, size: int) -> int:
    """The time in picoseconds that `size` bytes take at a rate in bits per second, rounded up."""
    return -(-size * 8_000_000_000_000 // rate)


def bytes_in(rate: int, span: int) -> int:
    """The whole bytes that a rate in bits per second carries in a time in picoseconds."""
    return rate * span // 8_000_000_000_000
