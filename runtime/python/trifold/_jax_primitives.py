"""JAX's primitives of trifold.jax: what they compute, their derivatives, their batches and how XLA calls them.

All take canonical arrays: D (B, N, n, n), E (B, N - 1, n, n), b (B, N, n, m). A factor is a value, bytes of the shape (B, R, k): B members,
R right-hand sides that its Plan solves for at a time, and k so that there is room for it. So shapes say which Plan a value belongs to. Its
memory is not divided by member: a value of many members cannot be cut into values of fewer.

Where D is (B, N, n, 3 n), it is A's rows of blocks [A(i, i - 1), A(i, i), A(i, i + 1)], and so is E.

Operations on a value take D and E too. They read neither, and XLA drops them: derivatives need them.
"""

from __future__ import annotations

import functools
import importlib
import json
import math
import threading
from typing import Any

import numpy

from ._core import jax_compile, jax_handlers, jax_value_bytes
from .arrays import readable
from .errors import SpecError
from .options import PRECISIONS

np: Any = numpy
jax: Any = importlib.import_module("jax")
jnp: Any = importlib.import_module("jax.numpy")
ffi: Any = importlib.import_module("jax.ffi")
ad: Any = importlib.import_module("jax.interpreters.ad")
batching: Any = importlib.import_module("jax.interpreters.batching")
mlir: Any = importlib.import_module("jax.interpreters.mlir")
backend: Any = importlib.import_module("jax.extend.backend")
extend: Any = importlib.import_module("jax.extend.core")
ir: Any = importlib.import_module("jax.extend.mlir.ir")
stablehlo: Any = importlib.import_module("jax.extend.mlir.dialects.stablehlo")

_CALLS = ("factor", "factor_solve", "solve", "log_determinant", "selected_inverse", "forward", "backward", "marginals")
_OPERATIONS = ["solve", "factor_solve"]
_OPERATIONS_OF_INVERSE = ["factor", "forward", "backward", "solve", "factor_solve", "inverse"]
_MOST_AT_A_TIME = 32  # right-hand sides
_LARGEST_BLOCK = 1024
_SMALL = {np.dtype(np.float64): 2.0**-100, np.dtype(np.float32): 2.0**-40}  # their squares are far below the rounding


def register() -> None:
    """Tells XLA of the handlers, for processors and for CUDA."""
    handlers = jax_handlers()
    if not handlers:
        raise SpecError("this trifold was built without the headers of XLA's FFI; run tools/jax_headers, and build it again")
    for call in _CALLS:
        on_cpu = {"instantiate": handlers["cpu_instantiate"], "execute": handlers["cpu_execute"]}
        on_cuda = {"initialize": handlers["cuda_initialize"], "execute": handlers["cuda_record"]}
        ffi.register_ffi_target(f"trifold_{call}", on_cpu, platform="cpu")
        ffi.register_ffi_target(f"trifold_{call}", on_cuda, platform="CUDA")
    for family in ("grid", "sparse"):
        ffi.register_ffi_target(f"trifold_{family}_solve", handlers["cpu_execute"], platform="cpu")
        ffi.register_ffi_target(f"trifold_{family}_solve", handlers["cuda_execute"], platform="CUDA")


def real() -> Any:
    """Type of sums over a member: float64, or float32 where JAX has no other."""
    return np.dtype(np.float64 if jax.config.jax_enable_x64 else np.float32)


def read_array(array: Any, name: str) -> Any:
    given = readable(array, name)
    try:
        result = jnp.asarray(given)
    except (TypeError, ValueError, RuntimeError) as error:
        raise SpecError(f"{name} is a {type(array).__name__}, of which no array can be made: {error}") from error
    if result.dtype not in (np.float32, np.float64):
        raise SpecError(f"{name} is {result.dtype}; convert it to float32 or float64")
    return result


# Problems and the shapes of values.


def problem(family: str, operation: str, **fields: Any) -> str:
    """A problem as binding/jax.cpp reads it: the only attribute of an operation of XLA."""
    return json.dumps({"family": family, "operation": operation, **fields})


def precision(array: Any) -> str:
    return PRECISIONS[np.dtype(array.dtype).name]


def _problem(call: str, D: Any, rhs: int, inverse: bool, accept: bool = False) -> str:
    batch, horizon, block, width = map(int, D.shape)
    spec: dict[str, Any] = {"block": block, "horizon": horizon, "batch": batch, "rhs": int(rhs), "precision": precision(D)}
    spec["operations"] = _OPERATIONS_OF_INVERSE if inverse else _OPERATIONS
    if _has_rows(D):
        spec["d"] = spec["e"] = {"leading": width, "stage": block * width, "member": horizon * block * width}
    return problem("tridiagonal", call, accept_nearly_singular=bool(accept), spec=spec)


def _has_rows(D: Any) -> bool:
    return D.shape[-1] != D.shape[-2]


@functools.cache
def _value_bytes(problem: str, device: str) -> int:
    return jax_value_bytes(problem, device)


def _value_shape(D: Any, rhs: int, inverse: bool) -> tuple[int, int, int]:
    """The largest of the devices that JAX has: which of them it will be is not known when shapes must be."""
    problem = _problem("factor", D, rhs, inverse)
    devices = ["cpu"] if jax.default_backend() == "cpu" else ["cpu", "cuda"]
    most = max(_value_bytes(problem, device) for device in devices)
    parts = D.shape[0] * rhs
    step = 64 // math.gcd(64, parts)  # so that values in a row are all aligned
    return D.shape[0], rhs, -(-most // (parts * step)) * step


def abstract_like(aval: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """An abstract array where ``aval`` is: over the same axes of a mesh."""
    spec = jax.sharding.PartitionSpec(*[None] * len(shape))
    sharding = jax.sharding.NamedSharding(aval.sharding.mesh, spec)
    return aval.update(shape=shape, dtype=np.dtype(dtype), weak_type=False, sharding=sharding)


def _check_value(value: Any, D: Any, inverse: bool) -> None:
    """When XLA's code is made: before, inside vmap, shapes of values are those of the whole batch, and other shapes are not."""
    expected = _value_shape(D, value.shape[1], inverse) if value.ndim == 3 else ()
    if value.shape != expected:
        raise SpecError(f"the factor's value has shape {value.shape} where D has {D.shape}; a factor of many members cannot be divided")


# Results of each primitive.


def _factor_shapes(D: Any, E: Any, *, rhs: int, inverse: bool, accept: bool) -> list[Any]:
    return [abstract_like(D, _value_shape(D, rhs, inverse), np.uint8)]


def _factor_solve_shapes(D: Any, E: Any, b: Any, *, inverse: bool, accept: bool) -> list[Any]:
    return [abstract_like(D, _value_shape(D, min(b.shape[3], _MOST_AT_A_TIME), inverse), np.uint8), abstract_like(D, b.shape, b.dtype)]


def _solve_shapes(value: Any, D: Any, E: Any, b: Any, *, inverse: bool) -> list[Any]:
    return [abstract_like(b, b.shape, b.dtype)]


def _log_determinant_shapes(value: Any, D: Any, E: Any, *, inverse: bool) -> list[Any]:
    return [abstract_like(D, D.shape[:1], real())]


def _selected_inverse_shapes(value: Any, D: Any, E: Any, *, inverse: bool) -> list[Any]:
    return [abstract_like(D, D.shape, D.dtype), abstract_like(D, E.shape, D.dtype)]


def _marginals_shapes(D: Any, E: Any, b: Any, *, inverse: bool, accept: bool) -> list[Any]:
    value, x = _factor_solve_shapes(D, E, b, inverse=inverse, accept=accept)
    of_inverse = _selected_inverse_shapes(value, D, E, inverse=inverse)
    return [value, *_log_determinant_shapes(value, D, E, inverse=inverse), *of_inverse, x]


def _change_of_inverse_shapes(D: Any, E: Any, scale: Any, dD: Any, dE: Any) -> list[Any]:
    return [abstract_like(D, D.shape, D.dtype), abstract_like(D, E.shape, D.dtype)]


def make_primitive(name: str, shapes: Any) -> Any:
    primitive = extend.Primitive(f"trifold_{name}")
    primitive.multiple_results = True
    primitive.def_abstract_eval(shapes)

    def impl(*arguments: Any, **parameters: Any) -> Any:
        results = _compiled(primitive, **parameters)(*arguments)
        if jax.config.jax_debug_nans:
            _refuse_nans(primitive, results)
        return results

    primitive.def_impl(impl)
    return primitive


def _refuse_nans(primitive: Any, results: list[Any]) -> None:
    """JAX itself does not look at what was compiled before jax_debug_nans was set."""
    for result in results:
        if jnp.issubdtype(result.dtype, jnp.floating) and np.isnan(result).any():
            raise FloatingPointError(f"invalid value (nan) encountered in {primitive.name}")


@functools.cache
def _compiled(primitive: Any, **parameters: Any) -> Any:
    def bind(*arguments: Any) -> Any:
        return primitive.bind(*arguments, **parameters)

    bind.__qualname__ = bind.__name__ = primitive.name
    bind._apply_primitive = True  # pyright: ignore[reportFunctionMemberAccess]  # or jax_debug_nans would go on looking within
    return jax.jit(bind)


factor_p = make_primitive("factor", _factor_shapes)
factor_solve_p = make_primitive("factor_solve", _factor_solve_shapes)
solve_p = make_primitive("solve", _solve_shapes)
log_determinant_p = make_primitive("log_determinant", _log_determinant_shapes)
selected_inverse_p = make_primitive("selected_inverse", _selected_inverse_shapes)
forward_p = make_primitive("forward", _solve_shapes)
backward_p = make_primitive("backward", _solve_shapes)
marginals_p = make_primitive("marginals", _marginals_shapes)
change_of_inverse_p = make_primitive("change_of_inverse", _change_of_inverse_shapes)


# How XLA calls them. The value that a sweep works in is an argument and a result in one; what comes out is of no use to others.


@functools.cache
def _compile_early(problem: str, platform: str) -> None:
    """Has the kernels compiled while XLA compiles what is around them. What is wrong is told when they are called."""
    device = "cpu" if platform == "cpu" else f"cuda:{jax.local_devices(backend=platform)[0].local_hardware_id}"
    threading.Thread(target=jax_compile, args=(problem, device), name="trifold compiles").start()


def _lower_first(call: str, platform: str) -> Any:
    def rule(ctx: Any, *operands: Any, inverse: bool, accept: bool, rhs: int | None = None) -> Any:
        problem = _problem(call, ctx.avals_in[0], ctx.avals_out[0].shape[1], inverse, accept)
        if platform in backend.backends():
            _compile_early(problem, platform)
        return ffi.ffi_lowering(f"trifold_{call}")(ctx, *operands, problem=problem)

    return rule


def _lower_sweep(call: str) -> Any:
    def rule(ctx: Any, value: Any, D: Any, E: Any, *b: Any, inverse: bool) -> Any:
        of_value, of_d, _, *of_b = ctx.avals_in
        _check_value(of_value, of_d, inverse)
        inner = ctx.replace(avals_in=[of_value, *of_b], avals_out=[of_value, *ctx.avals_out])
        lowering = ffi.ffi_lowering(f"trifold_{call}", operand_output_aliases={0: 0})
        return lowering(inner, value, *b, problem=_problem(call, of_d, of_value.shape[1], inverse))[1:]

    return rule


def _lower_log_determinant(ctx: Any, value: Any, D: Any, E: Any, *, inverse: bool) -> Any:
    of_value, of_d, _ = ctx.avals_in
    _check_value(of_value, of_d, inverse)
    inner = ctx.replace(avals_in=[of_value], avals_out=[_doubles(ctx.avals_out[0])])
    problem = _problem("log_determinant", of_d, of_value.shape[1], inverse)
    (result,) = ffi.ffi_lowering("trifold_log_determinant")(inner, value, problem=problem)
    return [_as_wide(result, ctx.avals_out[0])]


def _doubles(aval: Any) -> Any:
    """The library writes log determinants in float64, whatever JAX has."""
    return aval.update(dtype=np.dtype(np.float64))


def _as_wide(result: Any, aval: Any) -> Any:
    if aval.dtype == np.dtype(np.float64):
        return result
    return stablehlo.convert(ir.RankedTensorType.get(aval.shape, ir.F32Type.get()), result)


def _lower_marginals(platform: str) -> Any:
    first = _lower_first("marginals", platform)

    def rule(ctx: Any, *operands: Any, **parameters: Any) -> Any:
        value, log_determinant, *others = ctx.avals_out
        inner = ctx.replace(avals_out=[value, _doubles(log_determinant), *others])
        results = list(first(inner, *operands, **parameters))
        results[1] = _as_wide(results[1], log_determinant)
        return results

    return rule


for _platform in ("cpu", "cuda"):
    for _primitive_of, _rule in (
        (factor_p, _lower_first("factor", _platform)),
        (factor_solve_p, _lower_first("factor_solve", _platform)),
        (marginals_p, _lower_marginals(_platform)),
        (solve_p, _lower_sweep("solve")),
        (log_determinant_p, _lower_log_determinant),
        (selected_inverse_p, _lower_sweep("selected_inverse")),
        (forward_p, _lower_sweep("forward")),
        (backward_p, _lower_sweep("backward")),
    ):
        mlir.register_lowering(_primitive_of, _rule, platform=_platform)


# Derivatives: of A x = b follows A dx = db - dA x, one more solution with the same factor.


def lower(D: Any) -> Any:
    """The symmetric blocks that the lower triangles of D stand for."""
    return jnp.tril(D) + jnp.swapaxes(jnp.tril(D, -1), -1, -2)


def symmetric(change: Any) -> Any:
    """The change of A's blocks with D: the mean over both triangles, so that gradients of D are symmetric."""
    return (change + jnp.swapaxes(change, -1, -2)) / 2


blocks: Any = jax.custom_jvp(lower)


def _blocks_jvp(primals: Any, tangents: Any) -> Any:
    return lower(*primals), symmetric(*tangents)


blocks.defjvp(_blocks_jvp)


def times(D: Any, E: Any, x: Any) -> Any:
    """dA x, where the changes D or E may be a symbolic zero."""
    multiply = functools.partial(jnp.matmul, precision="highest")
    if not isinstance(D, ad.Zero) and _has_rows(D):
        before, after = jnp.pad(x[:, :-1], [(0, 0), (1, 0), (0, 0), (0, 0)]), jnp.pad(x[:, 1:], [(0, 0), (0, 1), (0, 0), (0, 0)])
        return multiply(D, jnp.concatenate([before, x, after], 2))
    result = jnp.zeros_like(x)
    if not isinstance(D, ad.Zero):
        result = result + multiply(symmetric(D), x)
    if not isinstance(E, ad.Zero) and E.shape[1] > 0:
        down, up = multiply(E, x[:, :-1]), multiply(jnp.swapaxes(E, -1, -2), x[:, 1:])
        result = result + jnp.pad(down, [(0, 0), (1, 0), (0, 0), (0, 0)]) + jnp.pad(up, [(0, 0), (0, 1), (0, 0), (0, 0)])
    return result


def _zero(array: Any) -> Any:
    return ad.Zero(jax.typeof(array).to_tangent_aval())


def _all_zero(*tangents: Any) -> bool:
    return all(isinstance(tangent, ad.Zero) for tangent in tangents)


def _change_of_solution(value: Any, D: Any, E: Any, x: Any, changes: Any, inverse: bool) -> Any:
    dD, dE, db = changes
    if _all_zero(dD, dE, db):
        return _zero(x)
    right = 0 if isinstance(db, ad.Zero) else db
    right = right if _all_zero(dD, dE) else right - times(dD, dE, x)
    return solve_p.bind(value, D, E, right, inverse=inverse)[0]


def _factor_jvp(primals: Any, tangents: Any, **parameters: Any) -> Any:
    (value,) = factor_p.bind(*primals, **parameters)
    return [value], [_zero(value)]


def _factor_solve_jvp(primals: Any, tangents: Any, *, inverse: bool, accept: bool) -> Any:
    D, E, _ = primals
    value, x = factor_solve_p.bind(*primals, inverse=inverse, accept=accept)
    return [value, x], [_zero(value), _change_of_solution(value, D, E, x, tangents, inverse)]


def _solve_jvp(primals: Any, tangents: Any, *, inverse: bool) -> Any:
    value, D, E, _ = primals
    (x,) = solve_p.bind(*primals, inverse=inverse)
    return [x], [_change_of_solution(value, D, E, x, tangents[1:], inverse)]


def _solve_transpose(cotangents: Any, value: Any, D: Any, E: Any, b: Any, *, inverse: bool) -> Any:
    (cotangent,) = cotangents
    if isinstance(cotangent, ad.Zero):
        return [None, None, None, ad.Zero(b.aval)]
    return [None, None, None, *solve_p.bind(value, D, E, cotangent, inverse=inverse)]


def _log_determinant_jvp(primals: Any, tangents: Any, *, inverse: bool) -> Any:
    (result,) = log_determinant_p.bind(*primals, inverse=inverse)
    if _all_zero(*tangents[1:]):
        return [result], [_zero(result)]
    blocks_of_inverse = selected_inverse_p.bind(*primals, inverse=inverse)
    return [result], [_change_of_log_determinant(result, blocks_of_inverse, *tangents[1:])]


def _change_of_log_determinant(result: Any, blocks_of_inverse: Any, dD: Any, dE: Any) -> Any:
    """The trace of A^-1 dA, for which the blocks of A^-1 where A has any are enough."""
    if _all_zero(dD, dE):
        return _zero(result)
    diagonal, below = blocks_of_inverse
    change = jnp.zeros_like(result)
    if not isinstance(dD, ad.Zero):
        change = change + jnp.sum((diagonal * symmetric(dD)).astype(result.dtype), (1, 2, 3))
    if not isinstance(dE, ad.Zero):
        change = change + 2 * jnp.sum((below * dE).astype(result.dtype), (1, 2, 3))
    return change


def _selected_inverse_jvp(primals: Any, tangents: Any, *, inverse: bool) -> Any:
    results = selected_inverse_p.bind(*primals, inverse=inverse)
    return results, _changes_of_inverse(results, *primals[1:], *tangents[1:])


def _changes_of_inverse(blocks_of_inverse: Any, D: Any, E: Any, *changes: Any) -> list[Any]:
    if _all_zero(*changes):
        return list(map(_zero, blocks_of_inverse))
    dD, dE = (jnp.zeros_like(p) if isinstance(t, ad.Zero) else t for p, t in zip((D, E), changes))
    scale = jax.lax.stop_gradient(jnp.max(jnp.diagonal(blocks_of_inverse[0], 0, -2, -1), (-2, -1)))
    return change_of_inverse_p.bind(*same_axes(D, E, scale, symmetric(dD), dE))


def _marginals_jvp(primals: Any, tangents: Any, *, inverse: bool, accept: bool) -> Any:
    D, E, _ = primals
    results = marginals_p.bind(*primals, inverse=inverse, accept=accept)
    value, log_determinant, *of_inverse, x = results
    return results, [
        _zero(value),
        _change_of_log_determinant(log_determinant, of_inverse, *tangents[:2]),
        *_changes_of_inverse(of_inverse, D, E, *tangents[:2]),
        _change_of_solution(value, D, E, x, tangents, inverse),
    ]


def _change_of_inverse(D: Any, E: Any, scale: Any, dD: Any, dE: Any) -> list[Any]:
    """The blocks of -A^-1 V A^-1, where V has the symmetric blocks dD and dE.

    The matrix [[A, e V], [e V, A]] has them in its inverse, times e, off the diagonal. All that is computed there is odd in e, so it has
    no rounding of anything larger. Terms of e^3 are below the rounding. scale: about the largest entry of A^-1, by member; the result does
    not depend on it.
    """
    n = D.shape[-1]
    if 2 * n > _LARGEST_BLOCK:
        raise SpecError(f"D has blocks of {n}; derivatives of the selected inverse take blocks of at most {_LARGEST_BLOCK // 2}")
    largest = jnp.maximum(jnp.max(abs(dD), (1, 2, 3)), jnp.max(abs(dE), (1, 2, 3), initial=0)) * scale
    e = (_SMALL[np.dtype(D.dtype)] / jnp.where(largest == 0, 1, largest)).astype(D.dtype)[:, None, None, None]
    double = [jnp.block([[block, e * change], [e * change, block]]) for block, change in ((D, dD), (E, dE))]
    (value,) = factor_p.bind(*double, rhs=1, inverse=True, accept=True)
    return [block[..., n:, :n] / e for block in selected_inverse_p.bind(value, *double, inverse=True)]


def _change_of_inverse_jvp(primals: Any, tangents: Any) -> Any:
    """It is linear in dD and dE, and its change with A follows from the rules of what it is made of."""
    D, E, scale, *changes = primals
    results = change_of_inverse_p.bind(*primals)
    dD, dE, _, *of_changes = tangents
    parts: list[Any] = []
    if not _all_zero(*of_changes):
        linear = (jnp.zeros_like(p) if isinstance(t, ad.Zero) else t for p, t in zip(changes, of_changes))
        parts.append(change_of_inverse_p.bind(*same_axes(D, E, scale, *linear)))
    if not _all_zero(dD, dE):
        of_a = tuple(jnp.zeros_like(p) if isinstance(t, ad.Zero) else t for p, t in zip((D, E), (dD, dE)))

        def at(D: Any, E: Any) -> list[Any]:
            return _change_of_inverse(D, E, scale, *changes)

        parts.append(jax.jvp(at, (D, E), of_a)[1])
    return results, [sum(part[1:], part[0]) for part in zip(*parts)] if parts else list(map(_zero, results))


def _change_of_inverse_transpose(cotangents: Any, D: Any, E: Any, scale: Any, dD: Any, dE: Any) -> Any:
    """It is its own adjoint, where E stands for two blocks of A."""
    if _all_zero(*cotangents):
        return [None, None, None, ad.Zero(dD.aval), ad.Zero(dE.aval)]
    of_diagonal, of_lower = (jnp.zeros_like(p) if isinstance(c, ad.Zero) else c for p, c in zip((D, E), cotangents))
    diagonal, below = change_of_inverse_p.bind(*same_axes(D, E, scale, symmetric(of_diagonal), of_lower / 2))
    return [None, None, None, diagonal, 2 * below]


def _triangle_jvp(primitive: Any, primals: Any, tangents: Any, *, inverse: bool) -> Any:
    """Differentiates forward and backward, which are linear in b."""
    value, D, E, _ = primals
    _, dD, dE, db = tangents
    if not _all_zero(dD, dE):
        raise SpecError(
            f"{primitive.name[8:]}() and sample() have no derivative with respect to D and E; give jax.lax.stop_gradient of both"
        )
    (result,) = primitive.bind(*primals, inverse=inverse)
    return [result], [_zero(result) if isinstance(db, ad.Zero) else primitive.bind(value, D, E, db, inverse=inverse)[0]]


def _triangle_transpose(adjoint: Any, cotangents: Any, value: Any, D: Any, E: Any, b: Any, *, inverse: bool) -> Any:
    (cotangent,) = cotangents
    if isinstance(cotangent, ad.Zero):
        return [None, None, None, ad.Zero(b.aval)]
    return [None, None, None, *adjoint.bind(value, D, E, cotangent, inverse=inverse)]


ad.primitive_jvps[factor_p] = _factor_jvp
ad.primitive_jvps[factor_solve_p] = _factor_solve_jvp
ad.primitive_jvps[solve_p] = _solve_jvp
ad.primitive_jvps[log_determinant_p] = _log_determinant_jvp
ad.primitive_jvps[selected_inverse_p] = _selected_inverse_jvp
ad.primitive_jvps[marginals_p] = _marginals_jvp
ad.primitive_jvps[change_of_inverse_p] = _change_of_inverse_jvp
ad.primitive_transposes[solve_p] = _solve_transpose
ad.primitive_transposes[change_of_inverse_p] = _change_of_inverse_transpose
for _primitive_of, _adjoint in ((forward_p, backward_p), (backward_p, forward_p)):
    ad.primitive_jvps[_primitive_of] = functools.partial(_triangle_jvp, _primitive_of)
    ad.primitive_transposes[_primitive_of] = functools.partial(_triangle_transpose, _adjoint)
mlir.register_lowering(change_of_inverse_p, mlir.lower_fun(_change_of_inverse, multiple_results=True))


# Batches: one launch for all of them. Where only b has a batch there is one factor, and more right-hand sides.


def _batch(primitive: Any, arguments: Any, axes: Any, **parameters: Any) -> Any:
    size = next(argument.shape[axis] for argument, axis in zip(arguments, axes) if axis is not None)
    if primitive in (factor_solve_p, marginals_p, solve_p, forward_p, backward_p) and all(axis is None for axis in axes[:-1]):
        return _batch_columns(primitive, arguments, axes[-1], size, **parameters)
    if primitive not in (factor_p, factor_solve_p, marginals_p, change_of_inverse_p) and axes[0] is None:
        raise SpecError("a factor without a batch cannot be differentiated along a batch of D or E; factor the batch")
    flat = [flatten_batch(argument, axis, size) for argument, axis in zip(arguments, axes)]
    results = primitive.bind(*flat, **parameters)
    return [result.reshape(size, result.shape[0] // size, *result.shape[1:]) for result in results], [0] * len(results)


def flatten_batch(argument: Any, axis: int | None, size: int) -> Any:
    if axis is None:
        argument = jnp.broadcast_to(argument, (size, *argument.shape))
    else:
        argument = jnp.moveaxis(argument, axis, 0)
    return argument.reshape(size * argument.shape[1], *argument.shape[2:])


def _batch_columns(primitive: Any, arguments: Any, axis: int, size: int, **parameters: Any) -> Any:
    *others, b = arguments
    b = jnp.moveaxis(b, axis, -1)
    results = primitive.bind(*others, b.reshape(*b.shape[:3], -1), **parameters)
    return [*results[:-1], results[-1].reshape(b.shape)], [*[None] * (len(results) - 1), 4]


for _primitive_of in (
    *(factor_p, factor_solve_p, solve_p, log_determinant_p, selected_inverse_p),
    *(forward_p, backward_p, marginals_p, change_of_inverse_p),
):
    batching.primitive_batchers[_primitive_of] = functools.partial(_batch, _primitive_of)


# Inside shard_map arrays vary over axes of the mesh. Arguments must agree on them, or cotangents would not be summed up over the others.
# With custom_linear_solve they must agree before it, for it makes what it is given agree by itself when it is bound.


def _varies_over(array: Any) -> frozenset[str]:
    aval = jax.typeof(array)
    kind = getattr(aval, "mat", None)
    return getattr(aval, "vma", frozenset()) if kind is None else kind.varying


def same_axes(*arrays: Any) -> tuple[Any, ...]:
    axes = frozenset[str]().union(*map(_varies_over, arrays))
    return tuple(_cast(array, tuple(sorted(axes - _varies_over(array)))) for array in arrays)


def _cast(array: Any, axes: tuple[str, ...]) -> Any:
    if not axes:
        return array
    if hasattr(jax.lax, "pcast"):
        return jax.lax.pcast(array, axes, to="varying")
    return jax.lax.pvary(array, axes)
