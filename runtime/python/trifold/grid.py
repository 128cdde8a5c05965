"""Images: A x = b, where A couples each pixel with itself and its eight neighbours.

    x = trifold.grid.solve(stencil, b)
    f = trifold.grid.factor(stencil); f.solve(b), f.solve_transposed(b), f.log_determinant()

stencil: (H, W, 9). Entry 3 (dy + 1) + dx + 1 of pixel (y, x) is what its row of A has at pixel (y + dy, x + dx); entries beyond the image
are zero. b and x: (H, W), or (H, W, m) for m right-hand sides. All may have the same axes of images in front. float32 or float64, the same
in all, on one device. Arrays are those of NumPy, torch, CuPy or JAX.

docs/users/grid.md in the repository says more. trifold.torch.grid and trifold.jax.grid have solutions with gradients.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple, TypedDict, Unpack

import numpy

from ._core import GridFactor, grid_solve
from .arrays import ArrayLike, adapt
from .errors import GridFailed
from .options import Option, flag, known, read, takes, truth, whole

__all__ = ["Determinant", "Factor", "GridFailed", "Status", "factor", "solve"]


def __dir__() -> list[str]:
    return __all__


np: Any = numpy  # its stubs differ from version to version
MOST_AT_A_TIME = 32  # right-hand sides


class Matrix(TypedDict, total=False):
    """Options of all solutions; solve() says what they are."""

    matrix: str
    pivoting: str
    boundary: str
    workers: Annotated[int, Option(1, whole)]


class Options(Matrix, total=False):
    """Options of solve() and factor()."""

    check: Annotated[bool | None, Option(None, truth)]
    accept_nearly_singular: Annotated[bool, Option(False, flag)]


MATRIX, OPTIONS = known(Matrix, "grid"), known(Options, "grid")


class Status(NamedTuple):
    """Outcomes of images: arrays of NumPy with the axes of images, or one entry where there are none. Pixels count from 0."""

    problem: Any  #: "none", "beyond_image", "not_finite", "pivot", "nearly_singular" or "unstable"
    x: Any  #: the pixel where it failed: its column, or -1 where none is to blame,
    y: Any  #: and its row
    front: Any  #: the pixels that the failing front eliminates: first x, last x, first y, last y, as (..., 4)
    level: Any  #: level of that front, 0 for the smallest; -1: no one front failed
    least_pivot: Any  #: the smallest, over the size of its row; of a symmetric A over the diagonal entry that it began with
    growth: Any  #: the largest pivot over the size of its row: where it is large, digits were lost. Of a symmetric A over its largest entry
    solution: Any  #: False: A has no problem, but x of the last solution is out of range


class Determinant(NamedTuple):
    """det A = sign exp(log), by image; log is NaN where the image failed. Of NumPy, or numbers where there are no axes of images."""

    log: Any
    sign: Any


@takes(OPTIONS)
def solve(stencil: ArrayLike, b: ArrayLike, out: ArrayLike | None = None, *, refine: int = 0, **options: Unpack[Options]) -> Any:
    """Solve A x = b. Returns x with the shape of b, in its library and on its device; or in out, which may be b.

    stencil: (..., H, W, 9), b: (..., H, W) or (..., H, W, m), as the module says. Images have 2 by 2 pixels or more.

    matrix: "general", or "symmetric" for a positive definite A, which takes half the time and memory; then only entries 0 to 4 of a stencil
    are read, and those that go to a fixed boundary. pivoting: "partial" or "none". boundary: "natural", or "fixed": the outer ring of
    pixels is data, whose rows of A are x = b. refine: steps of iterative refinement. workers: threads of the CPU, which change no bit.

    check, by default True on the CPU: raise GridFailed when an image fails, and OutOfRange when an x holds infinities or NaN, or is all
    below the normal range. Without it the x of an image that fails is NaN. On a GPU the work is enqueued on the library's current stream,
    and only check=True waits for it.
    accept_nearly_singular: take images that are nearly singular or unstable as they are, to refine them or to look at them.
    Raises SpecError on arrays or options that do not fit, DeviceError when there is no device or compiler.
    """
    settings, steps = read(solve, options, OPTIONS), whole(refine, "refine", 0)
    stencil, b = (array if hasattr(array, "shape") else adapt(array, name) for array, name in ((stencil, "stencil"), (b, "b")))
    check = settings.pop("check")
    return grid_solve(stencil, b, out, {**settings, "rhs": columns_at_a_time(stencil, b)}, steps, check)


def columns_at_a_time(stencil: Any, b: Any) -> int:
    """Number of right-hand sides that are solved at once."""
    columns = b.shape[-1] if len(b.shape) == len(stencil.shape) > 0 else 1
    return min(max(int(columns), 1), MOST_AT_A_TIME)


@takes(OPTIONS)
def factor(stencil: ArrayLike, *, rhs: int = 1, **options: Unpack[Options]) -> Factor:
    """Factor A, to solve with it again and again. rhs: right-hand sides that are solved at once; more go in panels of that many.

    The other arguments and errors are those of solve().
    """
    return Factor(factored(stencil, rhs, options), stencil, {**options, "rhs": rhs})


def factored(stencil: Any, rhs: int, options: Options) -> GridFactor:
    settings = read(factor, options, OPTIONS)
    check = settings.pop("check")
    core = GridFactor(stencil, {**settings, "rhs": whole(rhs, "rhs")})
    core.factor(check)
    return core


def _factor_again(stencil: Any, options: dict[str, Any]) -> Factor:
    """For pickles."""
    options["check"] = False
    return factor(stencil, **options)


class Factor:
    """A factored, as factor() leaves it.

    b and x are (..., H, W) or (..., H, W, m), with the axes of the stencil's images in front. Results go into out, or into a new array of
    b's library. Calls of several threads wait for one another; on a GPU they must be on one stream, or on streams that wait for one
    another. All raise SpecError on arrays that do not fit. An image that failed solves to NaN. It pickles as its stencil and options, and
    is factored again from them.
    """

    def __init__(self, core: GridFactor, stencil: Any, options: dict[str, Any]) -> None:
        self._core, self._stencil, self._options = core, stencil, options

    @property
    def stencil(self) -> Any:
        """Stencils that were factored."""
        return self._stencil

    def __repr__(self) -> str:
        options = "".join(f", {name}={value!r}" for name, value in self._options.items())
        return f"<trifold.grid.Factor: stencil {tuple(self._stencil.shape)}, {self._stencil.dtype}{options}>"

    def __reduce__(self) -> Any:
        return _factor_again, (self._stencil, self._options)

    @property
    def status(self) -> Status:
        """Outcome of each image. On a GPU this waits for the factorization."""
        return Status(*(self._by_image(column) for column in zip(*self._core.status())))

    def check(self) -> None:
        """Waits, and raises GridFailed when an image failed: its text names the pixels and says what to do.

        Raises OutOfRange when the x of the last solution holds infinities or NaN, as it does where b does, or is all below the
        normal range.
        """
        self._core.check()

    def solve(self, b: ArrayLike, out: ArrayLike | None = None) -> Any:
        """A^-1 b. out may be b."""
        return self._core.solve(b, out, False)

    def solve_transposed(self, b: ArrayLike, out: ArrayLike | None = None) -> Any:
        """A'^-1 b. out may be b."""
        return self._core.solve(b, out, True)

    def refine(self, b: ArrayLike, x: ArrayLike, out: ArrayLike | None = None, *, transposed: bool = False) -> Any:
        """One step of iterative refinement: x + A^-1 (b - A x), or with A'. out may be x.

        The stencil that was factored is read again, where it stands: it must not have changed.
        """
        return self._core.refine(b, x, out, transposed)

    def gradients(self, x: ArrayLike, by_x: ArrayLike) -> tuple[Any, Any]:
        """(dE/db, dE/dstencil) of a number E that depends on x = A^-1 b, from x and dE/dx. It takes one solution with A'.

        They have the shapes of x and of the stencil. Those of right-hand sides are summed for the stencil. Of a symmetric A an entry that
        is read stands for both its places, and the gradient of others is zero.
        """
        return self._core.gradients(x, by_x)

    def log_determinant(self) -> Determinant:
        """log |det A| and its sign, by image. On a GPU this waits for the factorization."""
        log, sign = zip(*self._core.log_determinant())
        return Determinant(self._by_image(log), self._by_image(sign))

    def reciprocal_condition(self) -> Any:
        """An estimate of 1 / (||A|| ||A^-1||) by image, of rows of equal size, in the infinity norm. It takes at most 13 solutions.

        Below the rounding unit A is singular to the precision. From there on an image that was called nearly singular may be accepted. The
        stencil that was factored is read again.
        """
        return self._by_image(tuple(self._core.reciprocal_condition()))

    def _by_image(self, values: tuple[Any, ...]) -> Any:
        shape = tuple(self._core.batch_shape)
        array = np.array(values)
        array = array.reshape((*shape, *array.shape[1:]))
        return array if array.ndim else array.item()
