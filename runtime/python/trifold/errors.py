"""Errors, and the attributes that each has in addition to its text."""

from __future__ import annotations

__all__ = [
    "CacheError",
    "CompileError",
    "DeviceError",
    "Error",
    "GridFailed",
    "LaunchError",
    "NearlySingular",
    "NotConverged",
    "NotPositiveDefinite",
    "OutOfRange",
    "RankError",
    "SparseFailed",
    "SpecError",
    "Unsolvable",
]


class Error(Exception):
    """Root of every error of this package. The text says what was given, what is wrong and what to do."""


class SpecError(Error, ValueError):
    """A problem or an argument that cannot be served as given."""


class DeviceError(Error, RuntimeError):
    """No usable device, driver, compiler or device memory."""


class CompileError(Error, RuntimeError):
    """The generated source did not compile."""


class CacheError(Error, RuntimeError):
    """A kernel that may not be compiled is not in the cache."""


class LaunchError(Error, RuntimeError):
    """A launch or a copy failed on the device."""


class RankError(Error, RuntimeError):
    """A rank has ended, does not answer in time, or does not fit the others. ``rank`` is that rank; -1 if it is not known."""

    def __init__(self, message: str, rank: int) -> None:
        super().__init__(message, rank)
        self.rank = rank

    def __str__(self) -> str:
        return str(self.args[0])


class Unsolvable(Error, ArithmeticError):
    """Some systems were computed, but must not be taken for solved: the base of what ``check`` raises."""


class NotPositiveDefinite(Unsolvable):
    """Some matrices are not positive definite; the others are solved.

    ``failures`` lists (member, block, row) for each, counted from 0. ``member``, ``block`` and ``row`` are those of the first.
    """

    def __init__(self, message: str, failures: list[tuple[int, int, int]]) -> None:
        super().__init__(message, failures)
        self.failures = failures
        self.member, self.block, self.row = failures[0]

    def __str__(self) -> str:
        return str(self.args[0])


class NearlySingular(Unsolvable):
    """Some matrices are singular to the precision, so that rounding decides their solutions; the others are solved.

    ``failures`` lists (member, least_pivot) for each: its least pivot, over the diagonal entry that it began with.
    """

    def __init__(self, message: str, failures: list[tuple[int, float]]) -> None:
        super().__init__(message, failures)
        self.failures = failures

    def __str__(self) -> str:
        return str(self.args[0])


class OutOfRange(Unsolvable):
    """Results of some members hold infinities or NaN; the others are solved. b may hold them too.

    ``failures`` lists (member, solution, inverse) for each: which of its results do.
    """

    def __init__(self, message: str, failures: list[tuple[int, bool, bool]]) -> None:
        super().__init__(message, failures)
        self.failures = failures

    def __str__(self) -> str:
        return str(self.args[0])


class NotConverged(Unsolvable):
    """Mixed precision could not refine the solutions of some members; the others are solved.

    ``failures`` lists (member, iterations, backward_error) for each.
    """

    def __init__(self, message: str, failures: list[tuple[int, int, float]]) -> None:
        super().__init__(message, failures)
        self.failures = failures

    def __str__(self) -> str:
        return str(self.args[0])


class GridFailed(Unsolvable):
    """Some images cannot be solved, or only to few digits; the others are solved.

    ``failures`` lists (image, problem, x, y) for each, counted from 0, where problem is that of trifold.grid.Status. ``image``,
    ``problem``, ``x`` and ``y`` are those of the first.
    """

    def __init__(self, message: str, failures: list[tuple[int, str, int, int]]) -> None:
        super().__init__(message, failures)
        self.failures = failures
        self.image, self.problem, self.x, self.y = failures[0]

    def __str__(self) -> str:
        return str(self.args[0])


class SparseFailed(Unsolvable):
    """The values of a sparse matrix cannot be used: some are not finite, or a pivot block is singular, or the matrix is not symmetric. Or,
    where a call has check=True, an iteration has not converged.

    ``failures`` lists (problem, row, column) for each matrix, of the first block that is to blame: "not_finite", "singular" or
    "not_symmetric", and rows and columns of blocks from 0; and for each iteration its end, such as "limit", with -1 for both.
    ``problem``, ``row`` and ``column`` are those of the first.
    """

    def __init__(self, message: str, failures: list[tuple[str, int, int]]) -> None:
        super().__init__(message, failures)
        self.failures = failures
        self.problem, self.row, self.column = failures[0]

    def __str__(self) -> str:
        return str(self.args[0])
