"""Linear quadratic control over a finite horizon, as one block tridiagonal system.

A block has the input of a stage and the state that follows. Its system adds squares of the dynamics' residuals to the costs (an augmented
Lagrangian; Bertsekas, Constrained Optimization and Lagrange Multiplier Methods, 1982), which makes it positive definite wherever there is
one minimum, also where Q is singular. It is factored once, and each sweep of the method of multipliers is one solution with that factor.
"""

# pyright: reportConstantRedefinition=false, reportPrivateUsage=false
# Matrices have the upper-case letters of the textbooks. Shapes are checked as those of state_space are.

from __future__ import annotations

import importlib
from typing import Any, NamedTuple

import numpy

from .errors import SpecError
from .factor import factor
from .namespaces import Namespace, namespace_of
from .options import whole
from .state_space import Front, _cat, _finite, _fit, _front, _join, _mv, _require, _squares, _t, _text

np: Any = numpy


class Optimal(NamedTuple):
    """The least of the costs, with a batch axis in front where an argument had one."""

    x: Any  #: (N + 1, n), x(0) first
    u: Any  #: (N, m)
    multipliers: Any  #: (N, n): what a unit more of x(t + 1) would cost from there on
    value: Any  #: () or (batch,), the sum of costs


def lqr(
    A: Any,
    B: Any,
    Q: Any,
    R: Any,
    Qf: Any,
    x0: Any,
    *,
    q: Any = None,
    r: Any = None,
    qf: Any = None,
    c: Any = None,
    horizon: int | None = None,
    sweeps: int = 6,
) -> Optimal:
    """States and inputs of least cost over N steps from x(0) = x0 on.

    x(t + 1) = A x(t) + B u(t) + c, t = 0, ..., N - 1. The cost is the sum of x' Q x / 2 + q' x + u' R u / 2 + r' u over these t, and of
    x' Qf x / 2 + qf' x for x(N).

    A, Q: (n, n), B: (n, m), R: (m, m), or each with N in front for one a stage. Qf: (n, n), x0, qf: (n,). q, c: (n,) and r: (m,), or with N
    in front; each 0 by default. Each may have a batch axis in front of time, (batch, N, n, n), where axes of 1 stand for any length:
    (batch, 1, n, n) is one A a member. Members that differ in x0, q, r, qf and c alone share a factorization. horizon is N; it is needed
    where no argument has stages. Of Q, R and Qf the symmetric parts count.

    The minimum must be one: R positive definite and Q and Qf semidefinite will do, so states may go without a cost. sweeps: solutions with
    the one factor. Errors shrink by a constant factor in each, mostly to a thousandth or less.

    Results are arrays of NumPy, or of torch or JAX where an argument is, with gradients to all of them. float32 if all arrays are, else
    float64. Raises SpecError on shapes that do not fit, on infinities and NaN, and where sweeps do not converge, as where there is not one
    minimum. Within jit, grad, vmap and torch.compile, and on a GPU, only shapes are checked, and members that do not converge are NaN.
    """
    space, sweeps = namespace_of([A, B, Q, R, Qf, x0, q, r, qf, c]), whole(sweeps, "sweeps", 2)
    with space.exact():
        p = _problem(space, {"A": A, "B": B, "Q": Q, "R": R, "Qf": Qf, "x0": x0, "q": q, "r": r, "qf": qf, "c": c}, horizon)
        z, multipliers, last = _minimum(p, sweeps)
        converged = _size(p, last) <= space.epsilon * _size(p, z)
        _require(space, converged, _NOT_CONVERGED.format(sweeps))
        if space.known(converged) is None:
            z, multipliers = (space.xp.where(converged[..., None, None], part, float("nan")) for part in (z, multipliers))
        value = p.first + (z * (_mv(p.H, z) / 2 + p.h)).sum(-1).sum(-1)
        return Optimal(_stack(space, [p.x0[..., None, :], z[..., p.m :]], -2, 2), z[..., : p.m], multipliers, value)


_NOT_CONVERGED = (
    "there is not one minimum, or {} sweeps do not reach it: give all inputs a cost in R and states that may drift a small one in Q, "
    "scale states and inputs so that costs are of similar size, or take float64 or more sweeps"
)


class _Problem(NamedTuple):
    """Blocks z(t) = (u(t), x(t + 1)) of cost z' H z / 2 + h' z, and residuals G z(t) + F z(t - 1) + c of the dynamics."""

    space: Namespace
    front: Front
    m: int
    x0: Any
    H: Any
    h: Any
    G: Any
    F: Any  #: zeros at t = 0
    c: Any  #: with A x0 at t = 0
    first: Any  #: cost of x0


def _problem(space: Namespace, given: dict[str, Any], horizon: int | None) -> _Problem:
    arrays = {name: _finite(space, space.array(value, name), name) for name, value in given.items() if value is not None}
    n = arrays["x0"].shape[-1] if arrays["x0"].ndim else 0
    m = arrays["B"].shape[-1] if arrays["B"].ndim > 1 else 0
    cores = {"A": (n, n), "B": (n, m), "Q": (n, n), "R": (m, m), "q": (n,), "r": (m,), "c": (n,)}
    ends = {"Qf": (n, n), "x0": (n,), "qf": (n,)}
    N = _horizon(arrays, cores) if horizon is None else whole(horizon, "horizon", 1)
    if n < 1 or m < 1 or N < 1:
        raise SpecError(f"x0 of shape {_text(arrays['x0'])}, B of {_text(arrays['B'])} and N = {N}; there must be a state, input and stage")
    for name, core in {**cores, **ends}.items():
        array = _fit(arrays.get(name, space.constant(np.zeros(core))), name, core, None if name in ends else N)
        arrays[name] = array if name in ends else space.spread(array, (*array.shape[: -1 - len(core)], N, *core))
    A, B, Q, R, q, r, c = (arrays[name] for name in cores)
    Qf, x0, qf = (arrays[name] for name in ends)
    none = space.constant(np.zeros((N, n, m)))
    later = space.constant(np.arange(N)[:, None, None] > 0)
    of_states = _stack(space, [Q[..., 1:, :, :], Qf[..., None, :, :]], -3, 3)
    H = _stack(space, [_stack(space, [R, _t(none)], -1, 3), _stack(space, [none, of_states], -1, 3)], -2, 3)
    return _Problem(
        space,
        _front([A, B, Q, R], [Qf, q, r, c], start_vectors=[x0, qf]),
        m,
        x0,
        H=(H + _t(H)) / 2,
        h=_stack(space, [r, _stack(space, [q[..., 1:, :], qf[..., None, :]], -2, 2)], -1, 2),
        G=_stack(space, [B, space.constant(np.zeros((N, 1, 1)) - np.eye(n))], -1, 3),
        F=_stack(space, [none, later * A], -1, 3),
        c=c + _mv((1 - later) * A, x0[..., None, :]),
        first=(x0 * (_mv(Q[..., 0, :, :], x0) / 2 + q[..., 0, :])).sum(-1),
    )


def _horizon(arrays: dict[str, Any], cores: dict[str, Front]) -> int:
    """N from the arguments that have stages. One stage with a batch axis may stand for any number."""
    given = [arrays[name].shape[: -len(core)] for name, core in cores.items() if name in arrays]
    counts = [shape[-1] for shape in given if len(shape) == 1 or (len(shape) > 1 and shape[-1] > 1)]
    if not counts:
        raise SpecError("no argument says how many stages there are; give horizon")
    return int(max(counts))


def _minimum(p: _Problem, sweeps: int) -> tuple[Any, Any, Any]:
    """z, the multipliers, and the change of z in the last sweep, by the method of multipliers."""
    space, roll = p.space, p.space.xp.roll
    # Derivatives come from the residuals: at their zero the factor does not count.
    H, G, F = (space.fixed(part) for part in (p.H, p.G, p.F))
    weight = space.epsilon**-0.4 * _largest(p)[..., None, None]
    D = H + weight[..., None] * (_t(G) @ G + roll(_t(F) @ F, -1, -3))
    E = (weight[..., None] * (_t(G) @ F))[..., 1:, :, :]
    solve = _factor(space, D, space.spread(E, (*D.shape[:-3], *E.shape[-3:]))).solve
    z = change = space.constant(np.zeros((*p.front, *p.h.shape[-2:])))
    multipliers = space.constant(np.zeros((*p.front, *p.c.shape[-2:])))
    residual = multipliers + p.c
    for _ in range(sweeps):
        pull = multipliers + weight * residual
        change = solve(-(_mv(p.H, z) + p.h + _mv(_t(p.G), pull) + roll(_mv(_t(p.F), pull), -1, -2)))
        z = z + change
        residual = p.c + _mv(p.G, z) + _mv(p.F, roll(z, 1, -2))
        multipliers = multipliers + weight * residual
    return z, multipliers, change


def _factor(space: Namespace, D: Any, E: Any) -> Any:
    """Failures are seen by the sweeps, which do not converge."""
    if space.name not in ("torch", "jax"):
        return factor(D, E, check=False)
    module: Any = importlib.import_module(f"trifold.{space.name}")
    return module.factor(D, E, accept_nearly_singular=True) if space.name == "jax" else module.factor(D, E, check=False)


def _size(p: _Problem, z: Any) -> Any:
    """Squares of inputs by their cost, and of states by the largest one."""
    z, R = p.space.fixed(z), p.space.fixed(p.H[..., : p.m, : p.m])
    u, x = z[..., : p.m], z[..., p.m :]
    return (u * _mv(R, u)).sum(-1).sum(-1) + _largest(p) * _squares(x).sum(-1)


def _largest(p: _Problem) -> Any:
    """The largest cost, by member."""
    return p.space.xp.amax(p.space.xp.abs(p.space.fixed(p.H)), (-3, -2, -1))


def _stack(space: Namespace, parts: list[Any], axis: int, core: int) -> Any:
    """Parts next to each other, where some may be without the batch axis. core: how many axes follow that."""
    front = _join([tuple(part.shape[:-core]) for part in parts])
    return _cat(space, [space.spread(part, (*front, *part.shape[-core:])) for part in parts], axis)
