"""Options that are numbers or words, with an error that names them where they are something else."""

from __future__ import annotations

import operator
from typing import Any

from .errors import SpecError

_MOST = 2**31 - 1


def whole(value: Any, name: str, least: int = 1) -> int:
    """A whole number of at least that."""
    try:
        number = operator.index(value)
    except (TypeError, ValueError):
        raise SpecError(f"{name} = {value!r} is no whole number; give {least} or more") from None
    if not least <= number <= _MOST:
        raise SpecError(f"{name} = {number} is out of range; give {least} or more")
    return number


def real(value: Any, name: str) -> float:
    try:
        return float(value if not isinstance(value, str) else None)
    except (TypeError, ValueError, OverflowError, RuntimeError):
        raise SpecError(f"{name} = {value!r} is no number; give one") from None


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
