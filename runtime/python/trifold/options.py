"""Options that are numbers or words, with an error that names them where they are something else."""

from __future__ import annotations

import difflib
import functools
import inspect
import json
import operator
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar, get_type_hints

import numpy as np

from ._core import families
from .errors import SpecError

_MOST = 2**31 - 1
#: Words of the library for the types of arrays.
PRECISIONS = {"float32": "f32", "float64": "f64", "mixed": "mixed"}


def whole(value: Any, name: str, least: int | None = None) -> int:
    """A whole number, of at least that where it is given; else whoever takes it says what is out of range."""
    advice = "give one" if least is None else f"give {least} or more"
    try:
        number = operator.index(value)
    except (TypeError, ValueError, RuntimeError):
        raise SpecError(f"{name} = {value!r} is no whole number; {advice}") from None
    if not (-_MOST if least is None else least) <= number <= _MOST:
        raise SpecError(f"{name} = {number} is out of range; {advice}")
    return number


def real(value: Any, name: str) -> float:
    """A number, whose imaginary part or gradient is not dropped."""
    try:
        if not isinstance(value, str) and not np.iscomplexobj(value) and not getattr(value, "requires_grad", False):
            return float(value)
    except (TypeError, ValueError, OverflowError, RuntimeError):
        pass
    raise SpecError(f"{name} = {value!r} is no number; give one")


def word(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise SpecError(f"{name} = {value!r} is no text; give a word, such as the default")
    return value


def word_or_none(value: Any, name: str) -> str | None:
    return value if value is None else word(value, name)


def _one_of(words: tuple[str, ...], value: Any, name: str) -> str:
    if word(value, name) in words:
        return value
    raise SpecError(f"{name} = {value!r} is not known; give {', '.join(map(repr, words[:-1]))} or {words[-1]!r}")


def truth(value: Any, name: str) -> bool | None:
    """True, False or None."""
    if value is None or isinstance(value, bool):
        return value
    if type(value).__name__ in ("bool", "bool_"):  # NumPy's, in its versions
        return bool(value)
    raise SpecError(f"{name} = {value!r} is neither True nor False; give one of them, or None for the default")


def lower_alone(triangle: Any) -> bool:
    """Whether gradients are for the lower entries of D alone."""
    if triangle not in ("both", "lower"):
        raise SpecError(f'triangle = {triangle!r}; give "both" for symmetric gradients of D, or "lower" for those of its lower triangles')
    return triangle == "lower"


def has_signs(matrix: Any) -> bool:
    """Whether pivots have both signs."""
    return _one_of(("positive-definite", "symmetric"), matrix, "matrix") == "symmetric"


def flag(value: Any, name: str) -> bool:
    """True or False; None is False."""
    return bool(truth(value, name))


class Option(NamedTuple):
    """Default and reader of an option in a TypedDict of options, in Annotated."""

    default: Any
    read: Callable[[Any, str], Any]  #: checks a value, given its name


def array(value: Any, name: str) -> Any:
    """An array is checked where it is read."""
    return value


@functools.cache
def tables() -> dict[str, Any]:
    """Families by their names: "spec", "tuning", "options" and "outcome" list fields, "operations" what can be called."""
    return {family["name"]: family for family in json.loads(families())}


def known(options: Any, family: str | None = None) -> dict[str, Option]:
    """The options of a TypedDict. Those without an Option are fields of the family, which says what they are."""
    fields = {field["name"]: (field["usual"], tuple(field["words"])) for field in tables()[family]["spec"]} if family else {}
    hints = get_type_hints(options, include_extras=True)
    return {name: hint.__metadata__[0] if hasattr(hint, "__metadata__") else _of_field(*fields[name]) for name, hint in hints.items()}


def _of_field(default: Any, words: tuple[str, ...]) -> Option:
    return Option(default, functools.partial(_one_of, words) if words else whole)


_Function = TypeVar("_Function", bound=Callable[..., Any])


def takes(options: Mapping[str, Option]) -> Callable[[_Function], _Function]:
    """Decorates a function that takes them as ``**options``: what help() shows has each of them, with its default."""

    def show(function: _Function) -> _Function:
        signature = inspect.signature(function)
        named = [one for one in signature.parameters.values() if one.kind is not one.VAR_KEYWORD]
        named += [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=one.default) for name, one in options.items()]
        shown: Any = function
        shown.__signature__ = signature.replace(parameters=named)
        return function

    return show


def listed(function: _Function) -> _Function:
    """Decorates a function of arguments with names: a TypeError for one that it does not take lists those that it does."""
    names = frozenset(inspect.signature(function).parameters)

    @functools.wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        for name in options:
            if name not in names:
                raise TypeError(_unexpected(function, name))
        return function(*arguments, **options)

    shown: Any = call
    return shown


#: Keywords of SciPy's methods that have another name here.
_SCIPYS = {"tol": "rtol", "M": "preconditioner", "verbose": "callback", "show": "callback"}


def read(function: Callable[..., Any], given: Mapping[str, Any], options: Mapping[str, Option]) -> dict[str, Any]:
    """All of the options that a call of the function was given, each checked, or its default where it is not given."""
    for name in given:
        if name not in options:
            raise TypeError(_unexpected(function, name))
    return {name: one.read(given.get(name, one.default), name) for name, one in options.items()}


def _unexpected(function: Callable[..., Any], name: str) -> str:
    taken = [one.name for one in inspect.signature(function).parameters.values() if one.kind is one.KEYWORD_ONLY]
    near = [_SCIPYS[name]] if _SCIPYS.get(name) in taken else difflib.get_close_matches(name, taken, 1)
    call = function.__qualname__.removesuffix(".__init__")
    meant = "".join(f"; did you mean {word!r}?" for word in near)
    return f"{call}() got an unexpected keyword argument {name!r}{meant or ';'} it takes {', '.join(taken)}"
