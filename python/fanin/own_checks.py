"""What is checked of a class of one's own before it is loaded: that no name in it is a misspelt one, which would never
be used, and that each value is of the kind that is needed. Each error is a `ValueError` for its author."""

from __future__ import annotations

import difflib
import inspect
import traceback
import types
import typing
from collections.abc import Callable, Collection, Mapping
from typing import TypeVar

from fanin._core import Balancer, Discipline, PathSelector, Receiver, Sender, SwitchProgram

T = TypeVar("T")

MOST_HEADER = 1000
"""Bytes that a scheme may add to a packet."""

LARGEST_INTEGER = 2**63 - 1
"""Of a spec."""


def hooks_of(base: type) -> list[str]:
    """The methods of a base class: its hooks, and what hooks may call."""
    return [name for name, value in vars(base).items() if _public(name) and inspect.ismethoddescriptor(value)]


def check_role(own: type, base: type, called: str = "") -> None:
    """Checks the class of a sender, a receiver, a switch's program or a policy: every hook is a plain function, and no
    name in it is a slip of the pen for that of a hook. `called` is its name in messages."""
    called = called or own.__qualname__
    hooks = hooks_of(base)
    numbers = [name for name, value in vars(base).items() if inspect.isgetsetdescriptor(value)]
    for name, value in _own_names(own, base).items():
        where = f"{called}.{name}"
        function = getattr(value, "__func__", value)
        if name in hooks:
            if not callable(function):
                raise ValueError(f"{where} is {_shown(value)}: a hook is a function, def {name}(self, ...)")
            if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
                raise ValueError(f"{where} is async, so that a call of it would do nothing: write def, without async")
            if inspect.isgeneratorfunction(function):
                raise ValueError(f"{where} has a yield, so that a call of it would do nothing: a hook returns")
        elif name in numbers:
            raise ValueError(
                f"{where} in the class would hide that of each object: set self.{name} in a hook like open"
            )
        elif isinstance(function, types.FunctionType) and name.startswith("on_") and (others := _others(name)):
            raise ValueError(
                f"{called} has a method {name}, which is a hook of {' and '.join(others)}, but none of "
                f"fanin.{base.__name__}; call a helper of your own _{name}"
            )
        elif isinstance(function, types.FunctionType) and (near := _near(name, hooks)):
            raise ValueError(
                f"{called} has a method {name}, but fanin.{base.__name__} has no hook of this name; did you mean "
                f"{near}? Call a helper of your own _{name}"
            )


def _others(name: str) -> list[str]:
    """The base classes that have a hook of this name."""
    bases: tuple[type, ...] = (Sender, Receiver, SwitchProgram, Balancer, PathSelector, Discipline)
    return [f"fanin.{base.__name__}" for base in bases if name in hooks_of(base)]


def need_hook(own: type, base: type, hooks: Collection[str], example: str) -> None:
    """Checks that a class has one of these hooks."""
    if not any(name in _own_names(own, base) for name in hooks):
        raise ValueError(f"it has no {' and no '.join(hooks)}: write {example}")


def check_scheme(own: type, base: type, roles: Mapping[str, type]) -> None:
    """Checks the fields of a scheme; `roles` are the base classes of its roles."""
    hooks = {hook: role for role, of in roles.items() for hook in hooks_of(of)}
    known = [name for name in vars(base) if _public(name)]
    for name, value in _own_names(own, base).items():
        if name in known:
            _check_field(name, value, roles)
        elif isinstance(value, types.FunctionType) and name in hooks:
            raise ValueError(
                f"it has a hook {name}, which belongs into its {hooks[name]}: class ...(fanin.{hooks[name]})"
            )
        elif not callable(value) or isinstance(value, type):
            near = _near(name, known)
            if near:
                raise ValueError(
                    f"it has a field {name}, but a scheme has none of this name; did you mean {near}? Call a field of "
                    f"your own _{name}"
                )
    for name, role in roles.items():
        if (found := getattr(own, name)) is not None:
            check_role(found, role)


def _check_field(name: str, value: object, roles: Mapping[str, type]) -> None:
    """Checks a field of a scheme that has a meaning."""
    where = f"{name} = {_shown(value)}"
    if name in roles:
        if value is not None:
            check_class(name, value)
            if not issubclass(typing.cast("type", value), roles[name]):
                qualname = typing.cast("type", value).__qualname__
                raise ValueError(f"{name} = {qualname}: it derives from fanin.{roles[name].__name__}")
    elif name in ("id", "transport", "sharing"):
        _need(isinstance(value, str), where, "it is a text")
    elif name in ("wants_ecn", "needs_marks", "telemetry", "acks_once_per_rtt", "holds_acks"):
        _need(isinstance(value, bool), where, "it is True or False")
    elif name in ("header_data", "header_ack"):
        _need(type(value) is int and 0 <= value <= MOST_HEADER, where, f"it is a whole number from 0 to {MOST_HEADER}")
    elif name == "credits" and value is not None:
        said = (
            "it is the bytes of a credit, 1 to 9000, of a burst and of the whole queue, both at least as many, like "
            "(84, 168, 1344)"
        )
        whole = isinstance(value, tuple) and len(value) == 3 and all(type(number) is int for number in value)
        _need(whole, where, said)
        credit, burst, limit = typing.cast("tuple[int, int, int]", value)
        _need(1 <= credit <= 9000 and credit <= burst < 2**32 and credit <= limit < 2**32, where, said)


def check_class(name: str, value: object) -> None:
    """Checks that a field is a class and not an object of one."""
    if not isinstance(value, type):
        made = type(value).__qualname__
        right = "a class" if type(value).__module__ == "builtins" else f"the class itself, {name} = {made}"
        raise ValueError(f"{name} is {_shown(value)}: it is {right}")


def check_default(where: str, value: object, kind: type, of_kind: str) -> None:
    """Checks the default of a parameter of this type, which `of_kind` describes."""
    fits = type(value) is kind or (kind is float and type(value) is int)
    _need(fits, f"{where} has the default {_shown(value)}", f"it must be {of_kind}")
    if type(value) is int:
        _need(abs(value) <= LARGEST_INTEGER, f"{where} has the default {value}", "a whole number is below 2^63")
    elif isinstance(value, float):
        finite = value - value == 0
        _need(finite, f"{where} has the default {value}", "a spec has finite numbers only")


def called_by_us(what: str, path: str | None, call: Callable[[], T]) -> T:
    """What a call of one's own code returns. What it raises becomes one `ValueError` with file and line; one that it
    raises itself keeps its message, which is for the spec's author."""
    try:
        return call()
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        if isinstance(error, ValueError) and str(error):
            raise
        verb = "" if isinstance(error, SystemExit) else "raised "
        raise ValueError(f"{what}{_place(error, path)} {verb}{described(error)}") from error


def described(error: BaseException) -> str:
    """The kind of an exception, and its message if it has one; of `sys.exit`, that it was called."""
    if isinstance(error, SystemExit):
        code = "" if error.code is None else repr(error.code)
        return f"called sys.exit({code}), which would end Fanin; raise an error instead, like ValueError"
    said = str(error)
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def _place(error: BaseException, path: str | None) -> str:
    """` (FILE, line N)`: the last line of this file on the way to the error, where there is one."""
    own = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
    return f" ({own[-1].filename}, line {own[-1].lineno})" if own else ""


def _own_names(own: type, base: type) -> dict[str, object]:
    """The public names that a class defines, itself or by its ancestors, besides those of `base`."""
    found: dict[str, object] = {}
    for one in own.__mro__:
        if one not in base.__mro__:
            found = {name: value for name, value in vars(one).items() if _public(name)} | found
    return found


def _public(name: str) -> bool:
    return not name.startswith("_")


def _near(name: str, known: Collection[str]) -> str | None:
    """The known name for which this one is a slip of the pen.

    Names that begin with `on_` look like hooks, and so less likeness is enough. Others may be short, as `lose`, or
    longer than a known one, as `routes` and `reopen`.
    """
    plain = {_plain(one): one for one in known}
    if name.startswith("on_"):
        near = difflib.get_close_matches(_plain(name), [one for one in plain if one.startswith("on")], n=1, cutoff=0.8)
    else:
        longer = any(_plain(name) != one and (_plain(name).startswith(one) or name.endswith(one)) for one in plain)
        near = [] if longer or len(name) < 5 else difflib.get_close_matches(_plain(name), plain, n=1, cutoff=0.85)
    return plain[near[0]] if near else None


def _plain(name: str) -> str:
    return name.lower().replace("_", "")


def _need(holds: bool, where: str, right: str) -> None:
    if not holds:
        raise ValueError(f"{where}: {right}")


def _shown(value: object) -> str:
    """A value for a message; an object by its class."""
    if isinstance(value, type):
        return value.__qualname__
    if value is None or isinstance(value, bool | int | float | str | tuple | list | dict):
        return repr(value) if len(repr(value)) <= 60 else f"{repr(value)[:57]}..."
    return f"an object of {type(value).__qualname__}"
