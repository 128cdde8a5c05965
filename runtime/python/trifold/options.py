"""Options that are numbers or words, with an error that names them where they are something else."""

from __future__ import annotations

import operator
from typing import Any

from .errors import SpecError

_MOST = 2**31 - 1


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
    try:
        if not isinstance(value, str):
            return float(value)
    except (TypeError, ValueError, OverflowError, RuntimeError):
        pass
    raise SpecError(f"{name} = {value!r} is no number; give one")


def word(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise SpecError(f"{name} = {value!r} is no text; give a word, such as the default")
    return value


def truth(value: Any, name: str) -> bool | None:
    """True, False or None."""
    if value is None or isinstance(value, bool):
        return value
    if type(value).__name__ in ("bool", "bool_"):  # NumPy's, in its versions
        return bool(value)
    raise SpecError(f"{name} = {value!r} is neither True nor False; give one of them, or None for the default")
