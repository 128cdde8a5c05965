"""Draws of Gaussians whose precision is factored."""

from __future__ import annotations

from typing import Any

import numpy

from .arrays import expect_real, library_of, plain
from .bordered import split
from .errors import SpecError
from .options import whole

np: Any = numpy


def added(drawn: Any, mean: Any, front: tuple[int, ...]) -> Any:
    """Draws around a mean, which has the shape ``front``; draws may have an axis of their own behind it."""
    if mean is None:
        return drawn
    if tuple(expect_real(mean, "mean").shape) != tuple(front):
        raise SpecError(f"mean has shape {tuple(mean.shape)}; give {tuple(front)}")
    return drawn + (mean[..., None] if drawn.ndim > len(front) else mean)


def shape_of(front: tuple[int, ...], draws: Any) -> tuple[int, ...]:
    return front if draws is None else (*front, whole(draws, "draws", 1))


def normal(generator: Any, shape: tuple[int, ...], dtype: str, library: str, device: Any) -> Any:
    """Standard normal numbers of the library's own generator, or of NumPy's; without one they differ from call to call."""
    if library == "torch":
        torch: Any = __import__("torch")
        if generator is not None and not isinstance(generator, torch.Generator):
            raise SpecError(f"generator is a {type(generator).__name__}; give a torch.Generator")
        return torch.randn(shape, generator=generator, dtype=getattr(torch, dtype), device=device)
    numbers = np.random.default_rng(generator).standard_normal(shape).astype(dtype, copy=False)
    if library == "cupy":
        cupy: Any = __import__("cupy")
        return cupy.asarray(numbers)
    return numbers


def sample(solver: Any, generator: Any, mean: Any, draws: Any, members: int | None) -> Any:
    """Draws by a Solver of trifold whose last factorization had that many members."""
    plan = solver.plan
    if plan.matrix != "positive-definite":
        raise SpecError(f'a matrix="{plan.matrix}" is the precision of no Gaussian; leave matrix out where A is positive definite')
    front = (plan.horizon, plan.block) if members is None else (members, plan.horizon, plan.block)
    if plan.border > 0:
        return _with_tip(solver, generator, mean, draws, front[:-2])
    mean = mean if mean is None else plain(mean, "mean", "trifold.torch")
    z = _normal_for(solver, mean, generator, shape_of(front, draws))
    return added(solver.backward(z, check=False), mean, front)


def _normal_for(solver: Any, mean: Any, generator: Any, shape: tuple[int, ...]) -> Any:
    library = library_of(type(solver.value if mean is None else mean))
    library = "numpy" if library == "another" else library
    return normal(generator, shape, "float32" if solver.plan.dtype == "float32" else "float64", library, solver.plan.device)


def _with_tip(solver: Any, generator: Any, mean: Any, draws: Any, front: tuple[int, ...]) -> Any:
    """Draws of a chain with a border: a pair with the tip, or one array where the mean is one."""
    inner, border, batched = (solver.plan.horizon, solver.plan.block), solver.plan.border, bool(front)
    means: Any = (None, None)
    back: Any = tuple
    if mean is not None:
        means, back = split(mean, inner, border, batched)
        means = [plain(part, "mean", "trifold.torch") for part in means]
    z = _normal_for(solver, means[0], generator, shape_of((*front, inner[0] * inner[1] + border), draws))
    drawn = solver.backward(split(z, inner, border, batched)[0], check=False)
    fronts = ((*front, *inner), (*front, border))
    return back(tuple(added(x, m, f) for x, m, f in zip(drawn, means, fronts)))
