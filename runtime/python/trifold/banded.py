"""Bands of numbers, as LAPACK and SciPy store them."""

# pyright: reportConstantRedefinition=false

from __future__ import annotations

from typing import Any, Unpack

from .arrays import ArrayLike
from .errors import SpecError
from .factor import Options, solve
from .namespaces import namespace_of
from .options import flag


def solveh_banded(ab: ArrayLike, b: ArrayLike, *, lower: bool = False, **options: Unpack[Options]) -> Any:
    """Solves A x = b for a band of numbers, as scipy.linalg.solveh_banded does.

    ab: (w + 1, N), whose rows are the diagonals of A: with lower, ab[i - j, j] is A[i, j], else ab[w + i - j, j]. b: (N,), or (N, m). Both
    may have a batch axis in front. The options are those of solve(), which also says what is raised.
    """
    space = namespace_of([ab, b])
    bands, right = space.array(ab, "ab"), space.array(b, "b")
    axis = bands.ndim - 2
    if axis not in (0, 1) or 0 in bands.shape:
        raise SpecError(f"ab has shape {tuple(bands.shape)}; give (w + 1, N), or (batch, w + 1, N)")
    rows, w = bands.shape[-1], bands.shape[-2] - 1
    fits = (*bands.shape[:-2], rows)
    if right.ndim not in (axis + 1, axis + 2) or tuple(right.shape[: axis + 1]) != fits:
        raise SpecError(f"b has shape {tuple(right.shape)}; give {fits}, or {(*fits, 'm')}, as ab has {rows} columns")

    def diagonal(k: int) -> Any:
        """The k-th below the main one, with numbers at its end that are not used."""
        if flag(lower, "lower"):
            return bands[..., k, :]
        own = bands[..., w - k, :]
        return space.xp.concatenate([own[..., k:], 0 * own[..., : min(k, rows)]], -1)

    main = diagonal(0)[..., None, None]
    if w > 1:
        E = space.xp.stack([diagonal(k) for k in range(1, w + 1)], -1)[..., None, None]
    else:
        E = (diagonal(1) if w == 1 else 0 * bands[..., 0, :])[..., : rows - 1, None, None]
    options["bandwidth"] = max(w, 1)
    x = solve(main, E if rows > 1 or w > 1 else None, right.reshape((*fits, 1, *right.shape[axis + 1 :])), **options)
    return x.reshape(right.shape)
