"""Signatures of what is written in C++, for inspect.signature() and what builds on it: they are those of the stub."""

from __future__ import annotations

import ast
import inspect
from typing import Any

from ._core import Plan, RankSolver, Solver, show_signatures


def show() -> None:
    """Once, for nanobind's methods say theirs in a way of their own."""
    plan: Any = Plan
    plan.__signature__ = _with_keywords(plan.__init__.__nb_signature__[0][0])
    for kind in (Plan, Solver, RankSolver):
        show_signatures(kind)


def _with_keywords(text: str) -> inspect.Signature:
    """Signature of a constructor ``def __init__(self, *, ...) -> None``."""
    function: Any = ast.parse(f"{text}: ...").body[0]
    arguments = function.args
    parameters = [
        inspect.Parameter(
            one.arg,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if default is None else ast.literal_eval(default),
            annotation=ast.unparse(one.annotation),
        )
        for one, default in zip(arguments.kwonlyargs, arguments.kw_defaults)
    ]
    return inspect.Signature(parameters)
