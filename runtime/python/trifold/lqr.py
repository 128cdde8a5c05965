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
    minimum. Within jit, vmap and torch.compile, and on a GPU, only shapes are checked, and members that do not converge are NaN.
    """
    space, sweeps = namespace_of([A, B, Q, R, Qf, x0, q, r, qf, c]), whole(sweeps, "sweeps", 2)
    given = {"A": A, "B": B, "Q": Q, "R": R, "Qf": Qf, "x0": x0, "q": q, "r": r, "qf": qf, "c": c}
    with space.exact():
        chain = _chain(space, given, horizon)
        z, multipliers, last = chain.minimum(sweeps)
        m, x0 = chain.m, chain.x0
        converged = chain.size(last) <= space.epsilon * chain.size(z)
        _require(space, converged, _NOT_CONVERGED.format(sweeps))
        if space.known(converged) is None:
            z, multipliers = (space.xp.where(converged[..., None, None], part, float("nan")) for part in (z, multipliers))
        start = space.spread(x0[..., None, :], (*chain.front, 1, x0.shape[-1]))
        return Optimal(_cat(space, [start, z[..., m:]], -2), z[..., :m], multipliers, chain.first + chain.cost(z))


_NOT_CONVERGED = (
    "there is not one minimum, or {} sweeps do not reach it: give all inputs a cost in R and states that may drift a small one in Q, "
    "scale states and inputs so that costs are of similar size, or take float64 or more sweeps"
)


class _Chain(NamedTuple):
    """Blocks z(t) = (u(t), x(t + 1)) of cost z' H z / 2 + h' z, and residuals G z(t) + F z(t - 1) + c of the dynamics."""

    space: Namespace
    front: Front
    m: int
    x0: Any
    H: Any
    h: Any
    G: Any
    F: Any  #: without that of t = 0
    c: Any  #: with A x0 at t = 0
    first: Any  #: cost of x0

    def minimum(self, sweeps: int) -> tuple[Any, Any, Any]:
        """z, the multipliers, and the change of z in the last sweep, by the method of multipliers."""
        space, h, G, F = self.space, self.h, self.G, self.F
        # Derivatives come from the residuals: at their zero the factor does not count.
        fixed = self._replace(**{name: space.fixed(getattr(self, name)) for name in ("H", "G", "F")})
        weight = space.epsilon**-0.4 * space.xp.amax(space.xp.abs(fixed.H), (-3, -2, -1))[..., None, None]
        solve = _factor(space, *fixed.blocks(weight[..., None])).solve
        z, multipliers = space.constant(np.zeros(h.shape)), space.constant(np.zeros(self.c.shape))
        change, residual = z, self.c
        for _ in range(sweeps):
            pull = multipliers + weight * residual
            change = solve(-(_mv(self.H, z) + h + _mv(_t(G), pull) + self.shift(_mv(_t(F), pull[..., 1:, :]), last=True)))
            z = z + change
            residual = self.c + _mv(G, z) + self.shift(_mv(F, z[..., :-1, :]))
            multipliers = multipliers + weight * residual
        return z, multipliers, change

    def blocks(self, weight: Any) -> tuple[Any, Any]:
        """D and E of the costs and the weighted squares of the residuals."""
        space, G, F, times = self.space, self.G, self.F, self.h.shape[-2]
        k = self.h.shape[-1]
        later = G if G.shape[-3] == 1 < times else G[..., 1:, :, :]
        front = _join([tuple(M.shape[:-3]) for M in (self.H, G, F)])
        D = space.spread(self.H + weight * (_t(G) @ G), (*front, times, k, k))
        of_next = space.spread(weight * (_t(F) @ F), (*front, times - 1, k, k))
        E = space.spread(weight * (_t(later) @ F), (*front, times - 1, k, k))
        return D + _cat(space, [of_next, space.constant(np.zeros((*front, 1, k, k)))], -3), E

    def shift(self, vectors: Any, last: bool = False) -> Any:
        """N - 1 of them, with zeros for t = 0, or for the last t."""
        space, shape = self.space, vectors.shape
        parts = [space.constant(np.zeros((*shape[:-2], 1, shape[-1]))), vectors]
        return _cat(space, parts[::-1] if last else parts, -2)

    def cost(self, z: Any) -> Any:
        return (z * (_mv(self.H, z) / 2 + self.h)).sum(-1).sum(-1)

    def size(self, z: Any) -> Any:
        """Squares of inputs by their cost, and of states by the largest one."""
        z, H, m = self.space.fixed(z), self.space.fixed(self.H), self.m
        u, x = z[..., :m], z[..., m:]
        of_inputs = (u * _mv(H[..., :m, :m], u)).sum(-1).sum(-1)
        return of_inputs + self.space.xp.amax(self.space.xp.abs(H), (-3, -2, -1)) * _squares(x).sum(-1)


def _chain(space: Namespace, given: dict[str, Any], horizon: int | None) -> _Chain:
    arrays = {name: _finite(space, space.array(value, name), name) for name, value in given.items() if value is not None}
    n = arrays["x0"].shape[-1] if arrays["x0"].ndim else 0
    m = arrays["B"].shape[-1] if arrays["B"].ndim > 1 else 0
    N = _horizon(arrays) if horizon is None else whole(horizon, "horizon", 1)
    if n < 1 or m < 1 or N < 1:
        raise SpecError(f"x0 of shape {_text(arrays['x0'])}, B of {_text(arrays['B'])} and N = {N}; there must be a state, input and stage")
    cores = {"A": (n, n), "B": (n, m), "Q": (n, n), "R": (m, m), "q": (n,), "r": (m,), "c": (n,)}
    ends = {"Qf": (n, n), "x0": (n,), "qf": (n,)}
    for name, core in {**cores, **ends}.items():
        array = arrays.get(name, space.constant(np.zeros(core)))
        arrays[name] = _fit(array, name, core, None if name in ends else N)
    A, B, Q, R, q, r, c = (arrays[name] for name in cores)
    Qf, x0, qf = (arrays[name] for name in ends)
    front = _front([A, B, Q, R], [Qf, q, r, c], start_vectors=[x0, qf])

    def later(array: Any, axis: int) -> Any:
        """Without the first stage, where there is one for each."""
        return array if array.shape[axis] == 1 < N else array[(..., slice(1, None), *[slice(None)] * (-1 - axis))]

    def stages(array: Any, count: int, front: Front, core: Front) -> Any:
        return space.spread(array, (*front, count, *core))

    of_costs = _join([tuple(Q.shape[:-3]), tuple(R.shape[:-3]), tuple(Qf.shape[:-2])])
    of_states = [stages(later(Q, -3), N - 1, of_costs, (n, n)), stages(Qf[..., None, :, :], 1, of_costs, (n, n))]
    none = space.constant(np.zeros((*of_costs, N, m, n)))
    rows = [[stages(R, N, of_costs, (m, m)), none], [_t(none), _cat(space, of_states, -3)]]
    H = _cat(space, [_cat(space, row, -1) for row in rows], -2)
    slopes = _cat(space, [stages(later(q, -2), N - 1, front, (n,)), stages(qf[..., None, :], 1, front, (n,))], -2)
    F = later(A, -3)
    started = [stages(_mv(A[..., 0, :, :], x0)[..., None, :], 1, front, (n,)), space.constant(np.zeros((*front, N - 1, n)))]
    return _Chain(
        space,
        front,
        m,
        x0,
        H=(H + _t(H)) / 2,
        h=_cat(space, [stages(r, N, front, (m,)), slopes], -1),
        G=_cat(space, [B, space.spread(space.constant(-np.eye(n)), (*B.shape[:-1], n))], -1),
        F=_cat(space, [space.constant(np.zeros((*F.shape[:-1], m))), F], -1),
        c=stages(c, N, front, (n,)) + _cat(space, started, -2),
        first=(x0 * (_mv(Q[..., 0, :, :], x0) / 2 + q[..., 0, :])).sum(-1),
    )


def _horizon(arrays: dict[str, Any]) -> int:
    """N from the arguments that have stages. One stage with a batch axis may stand for any number."""
    axes = {"A": 2, "B": 2, "Q": 2, "R": 2, "q": 1, "r": 1, "c": 1}
    given = [arrays[name].shape[:-core] for name, core in axes.items() if name in arrays]
    counts = [shape[-1] for shape in given if len(shape) == 1 or (len(shape) > 1 and shape[-1] > 1)]
    if not counts:
        raise SpecError("no argument says how many stages there are; give horizon")
    return int(max(counts))


def _factor(space: Namespace, D: Any, E: Any) -> Any:
    """Failures are seen by the sweeps, which do not converge."""
    if space.name not in ("torch", "jax"):
        return factor(D, E, check=False)
    module: Any = importlib.import_module(f"trifold.{space.name}")
    return module.factor(D, E, accept_nearly_singular=True) if space.name == "jax" else module.factor(D, E, check=False)
