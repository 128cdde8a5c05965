"""JAX's primitives of trifold.jax: what they compute, their derivatives, their batches and how XLA calls them.

All take canonical arrays: D (B, N, n, n), E (B, N - 1, n, n), b (B, N, n, m). A factor is a value, bytes of the shape (B, R, k): B members,
R right-hand sides that its Plan solves for at a time, and k so that there is room for it; (B, R, k, 1) where pivots have both signs. So
shapes say which Plan a value belongs to. Its memory is not divided by member: a value of many members cannot be cut into values of fewer.

A general matrix has U (B, N - 1, n, n) behind E, the blocks (i, i + 1), and primitives of its own, whose names begin with "general".

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
from .matrices import step_of_inverse
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

_OPERATIONS = ["solve", "factor_solve"]
_OPERATIONS_OF_GENERAL = ["factor", "solve", "factor_solve"]
_OPERATIONS_OF_INVERSE = ["factor", "forward", "backward", "solve", "factor_solve", "inverse"]
_MOST_AT_A_TIME = 32  # right-hand sides


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
    for family in ("grid", "sparse", "any"):
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


def expect_columns(b: Any, front: tuple[int, ...], dtype: Any, whose: str) -> None:
    """Requires right-hand sides of the shape ``front``, or with one axis more, of A's type."""
    if b.shape[: len(front)] != front or b.ndim > len(front) + 1 or 0 in b.shape:
        raise SpecError(f"b has shape {b.shape}; give {front}, or {(*front, 'm')} for m right-hand sides")
    if b.dtype != dtype:
        raise SpecError(f"b is {b.dtype} and {whose} {dtype}; give arrays of one type")


def precision(array: Any) -> str:
    return PRECISIONS[np.dtype(array.dtype).name]


def _is_ring(D: Any, E: Any) -> bool:
    """Whether E has as many blocks as D, so that the last one couples the last block to the first."""
    return not _has_rows(D) and E.shape[1] == D.shape[1]


def _problem(call: str, D: Any, E: Any, rhs: int, inverse: bool, accept: bool = False, signs: bool = False, general: bool = False) -> str:
    batch, horizon, block, width = map(int, D.shape)
    spec: dict[str, Any] = {"block": block, "horizon": horizon, "batch": batch, "rhs": int(rhs), "precision": precision(D)}
    spec["operations"] = _OPERATIONS_OF_INVERSE if inverse else _OPERATIONS
    if general:
        spec["matrix"], spec["operations"] = "general", _OPERATIONS_OF_GENERAL
    if _is_ring(D, E):
        spec["ring"] = True
    if signs:
        spec["matrix"] = "symmetric"
    if _has_rows(D):
        spec["d"] = spec["e"] = {"leading": width, "stage": block * width, "member": horizon * block * width}
    return problem("tridiagonal", call, accept_nearly_singular=bool(accept), spec=spec)


def _has_rows(D: Any) -> bool:
    return D.shape[-1] != D.shape[-2]


@functools.cache
def _value_bytes(problem: str, device: str) -> int:
    return jax_value_bytes(problem, device)


def _value_shape(D: Any, E: Any, rhs: int, inverse: bool, signs: bool, general: bool) -> tuple[int, ...]:
    """The largest of the devices that JAX has: which of them it will be is not known when shapes must be."""
    problem = _problem("factor", D, E, rhs, inverse, signs=signs, general=general)
    devices = ["cpu"] if jax.default_backend() == "cpu" else ["cpu", "cuda"]
    most = max(_value_bytes(problem, device) for device in devices)
    parts = D.shape[0] * rhs
    step = 64 // math.gcd(64, parts)  # so that values in a row are all aligned
    return D.shape[0], rhs, -(-most // (parts * step)) * step, *((1,) if signs else ())


def abstract_like(aval: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """An abstract array where ``aval`` is: over the same axes of a mesh."""
    spec = jax.sharding.PartitionSpec(*[None] * len(shape))
    sharding = jax.sharding.NamedSharding(aval.sharding.mesh, spec)
    return aval.update(shape=shape, dtype=np.dtype(dtype), weak_type=False, sharding=sharding)


def has_signs(value: Any, D: Any) -> bool:
    """Whether pivots of a value have both signs."""
    return value.ndim == D.ndim


def _check_value(value: Any, D: Any, E: Any, inverse: bool, general: bool) -> None:
    """When XLA's code is made: before, inside vmap, shapes of values are those of the whole batch, and other shapes are not."""
    expected = _value_shape(D, E, value.shape[1], inverse, has_signs(value, D), general) if value.ndim in (3, 4) else ()
    if value.shape != expected:
        raise SpecError(f"the factor's value has shape {value.shape} where D has {D.shape}; a factor of many members cannot be divided")


# Primitives.


def _make_primitive(name: str, shapes: Any) -> Any:
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


# Primitives of chains: their rules go by the names of arguments and results.

_NAMES: dict[Any, tuple[list[str], list[str]]] = {}


def _of_chain(name: str, inputs: str, outputs: str) -> Any:
    names = inputs.split(), outputs.split()
    primitive = _make_primitive(name, functools.partial(_shapes, *names))
    _NAMES[primitive] = names
    return primitive


def _shapes(inputs: list[str], outputs: list[str], *avals: Any, **parameters: Any) -> list[Any]:
    given: dict[str, Any] = dict(zip(inputs, avals))
    inverse, signs = parameters.get("inverse", True), parameters.get("signs", False)
    D, b = given["D"], given.get("b")
    columns = parameters.get("rhs", 1) if b is None else min(b.shape[3], _MOST_AT_A_TIME)

    def result(name: str) -> Any:
        if name == "value":
            return abstract_like(D, _value_shape(D, given["E"], columns, inverse, signs, "U" in given), np.uint8)
        if name == "log_determinant":
            return abstract_like(D, D.shape[:1], real())
        like = given[{"x": "b", "diagonal": "D", "lower": "E"}[name]]
        return abstract_like(like, like.shape, like.dtype)

    return list(map(result, outputs))


factor_p = _of_chain("factor", "D E", "value")
factor_solve_p = _of_chain("factor_solve", "D E b", "value x")
solve_p = _of_chain("solve", "value D E b", "x")
log_determinant_p = _of_chain("log_determinant", "value D E", "log_determinant")
selected_inverse_p = _of_chain("selected_inverse", "value D E", "diagonal lower")
forward_p = _of_chain("forward", "value D E b", "x")
backward_p = _of_chain("backward", "value D E b", "x")
marginals_p = _of_chain("marginals", "D E b", "value log_determinant diagonal lower x")
general_factor_p = _of_chain("general_factor", "D E U", "value")
general_factor_solve_p = _of_chain("general_factor_solve", "D E U b", "value x")
general_solve_p = _of_chain("general_solve", "value D E U b", "x")
general_solve_transposed_p = _of_chain("general_solve_transposed", "value D E U b", "x")
general_log_determinant_p = _of_chain("general_log_determinant", "value D E U", "log_determinant")
_CALLS = {primitive.name.removeprefix("trifold_"): primitive for primitive in _NAMES}
change_of_inverse_p = _of_chain("change_of_inverse", "D E scale dD dE", "diagonal lower")  # no call: it is made of others


def call(primitive: Any, *arrays: Any, **parameters: Any) -> list[Any]:
    return primitive.bind(*same_axes(*arrays), **parameters)


# How XLA calls them. The value that a sweep works in is an argument and a result in one; what comes out is of no use to others.


@functools.cache
def _compile_early(problem: str, platform: str) -> None:
    """Has the kernels compiled while XLA compiles what is around them. What is wrong is told when they are called."""
    device = "cpu" if platform == "cpu" else f"cuda:{jax.local_devices(backend=platform)[0].local_hardware_id}"
    threading.Thread(target=jax_compile, args=(problem, device), name="trifold compiles").start()


def _lower(
    name: str, platform: str, ctx: Any, *operands: Any, inverse: bool, accept: bool = False, rhs: int = 1, signs: bool = False
) -> Any:
    inputs, outputs = _NAMES[_CALLS[name]]
    given, results = dict(zip(inputs, ctx.avals_in)), dict(zip(outputs, ctx.avals_out))
    value, log_determinant = {**given, **results}["value"], results.get("log_determinant")
    general = "U" in given
    problem = _problem(name, given["D"], given["E"], value.shape[1], inverse, accept, has_signs(value, given["D"]), general)
    aliases: dict[str, Any] = {}
    if "value" in results:
        if platform in backend.backends():
            _compile_early(problem, platform)
    else:
        _check_value(value, given["D"], given["E"], inverse, general)
        given = {one: aval for one, aval in given.items() if one in ("value", "b")}
        if log_determinant is None:
            results, aliases = {"value": value, **results}, {"operand_output_aliases": {0: 0}}
    if log_determinant is not None:  # the library writes them in float64, whatever JAX has
        results["log_determinant"] = log_determinant.update(dtype=np.dtype(np.float64))
    inner = ctx.replace(avals_in=list(given.values()), avals_out=list(results.values()))
    arrays = [operand for one, operand in zip(inputs, operands) if one in given]
    made = dict(zip(results, ffi.ffi_lowering(f"trifold_{name}", **aliases)(inner, *arrays, problem=problem)))
    if log_determinant is not None and log_determinant.dtype == np.float32:
        kind = ir.RankedTensorType.get(log_determinant.shape, ir.F32Type.get())
        made["log_determinant"] = stablehlo.convert(kind, made["log_determinant"])
    return [made[one] for one in outputs]


for _platform in ("cpu", "cuda"):
    for _name, _primitive_of in _CALLS.items():
        mlir.register_lowering(_primitive_of, functools.partial(_lower, _name, _platform), platform=_platform)


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
    if not isinstance(E, ad.Zero) and E.shape[1] == x.shape[1]:
        result = result + jnp.roll(multiply(E, x), 1, 1) + multiply(jnp.swapaxes(E, -1, -2), jnp.roll(x, -1, 1))
    elif not isinstance(E, ad.Zero) and E.shape[1] > 0:
        down, up = multiply(E, x[:, :-1]), multiply(jnp.swapaxes(E, -1, -2), x[:, 1:])
        result = result + jnp.pad(down, [(0, 0), (1, 0), (0, 0), (0, 0)]) + jnp.pad(up, [(0, 0), (0, 1), (0, 0), (0, 0)])
    return result


def _zero(array: Any) -> Any:
    return ad.Zero(jax.typeof(array).to_tangent_aval())


def _all_zero(*tangents: Any) -> bool:
    return all(isinstance(tangent, ad.Zero) for tangent in tangents)


def _filled(changes: Any, like: Any) -> list[Any]:
    return [jnp.zeros_like(array) if isinstance(change, ad.Zero) else change for change, array in zip(changes, like)]


def _change_of_solution(sweep: Any, value: Any, D: Any, E: Any, x: Any, dD: Any, dE: Any, db: Any, inverse: bool) -> Any:
    if _all_zero(dD, dE, db):
        return _zero(x)
    right = 0 if isinstance(db, ad.Zero) else db
    if not _all_zero(dD, dE):
        if sweep is not solve_p:
            name = sweep.name.removeprefix("trifold_")
            raise SpecError(f"{name}() and sample() have no derivative with respect to D and E; give jax.lax.stop_gradient of both")
        right = right - times(dD, dE, x)
    return sweep.bind(value, D, E, right, inverse=inverse)[0]


def _jvp(primitive: Any, primals: Any, tangents: Any, **parameters: Any) -> Any:
    inputs, outputs = _NAMES[primitive]
    results, changes = primitive.bind(*primals, **parameters), dict(zip(inputs, tangents))
    known = {**dict(zip(inputs, primals)), **dict(zip(outputs, results))}
    value, D, E = known["value"], known["D"], known["E"]
    dD, dE, inverse = changes["D"], changes["E"], parameters["inverse"]
    of_inverse = [known["diagonal"], known["lower"]] if "lower" in known else None
    found: dict[str, Any] = {"value": _zero(value)}
    if "x" in known:
        sweep = primitive if primitive in (forward_p, backward_p) else solve_p
        found["x"] = _change_of_solution(sweep, value, D, E, known["x"], dD, dE, changes["b"], inverse)
    if "log_determinant" in known:
        if of_inverse is None and not _all_zero(dD, dE):
            of_inverse = selected_inverse_p.bind(value, D, E, inverse=inverse)
        found["log_determinant"] = _change_of_log_determinant(known["log_determinant"], of_inverse, dD, dE)
    if "lower" in known:
        found["diagonal"], found["lower"] = _changes_of_inverse(of_inverse, D, E, dD, dE, signs=has_signs(value, D))
    return results, [found[name] for name in outputs]


def _transpose(adjoint: Any, cotangents: Any, *operands: Any, inverse: bool) -> Any:
    """Transposes what is linear in b, which is the last operand."""
    (cotangent,), (*matrix, b) = cotangents, operands
    by_b = ad.Zero(b.aval) if isinstance(cotangent, ad.Zero) else adjoint.bind(*matrix, cotangent, inverse=inverse)[0]
    return [*[None] * len(matrix), by_b]


def _times_general(D: Any, E: Any, U: Any, x: Any) -> Any:
    """A x of a general matrix."""
    multiply = functools.partial(jnp.matmul, precision="highest")
    count = E.shape[1]
    down, up = multiply(E, x[:, :count]), multiply(U, jnp.roll(x, -1, 1)[:, :count])
    filled = [(0, 0), (0, x.shape[1] - count), (0, 0), (0, 0)]  # in a ring, which has as many of them as blocks, nothing
    return multiply(D, x) + jnp.roll(jnp.pad(down, filled), 1, 1) + jnp.pad(up, filled)


def _general_jvp(primitive: Any, primals: Any, tangents: Any, **parameters: Any) -> Any:
    inputs, outputs = _NAMES[primitive]
    results, changes = primitive.bind(*primals, **parameters), dict(zip(inputs, tangents))
    known = {**dict(zip(inputs, primals)), **dict(zip(outputs, results))}
    matrix, of_matrix = [known[name] for name in "DEU"], [changes[name] for name in "DEU"]
    found: dict[str, Any] = {name: _zero(known[name]) for name in outputs}
    if "log_determinant" in known and not _all_zero(*of_matrix):
        raise SpecError("log_determinant() of a general matrix has no derivatives; give jax.lax.stop_gradient of D, E and upper")
    if "x" in known and not _all_zero(*of_matrix, changes["b"]):
        turned = primitive is general_solve_transposed_p
        (right,) = _filled([changes["b"]], [known["b"]])
        if not _all_zero(*of_matrix):
            dD, dE, dU = _filled(of_matrix, matrix)
            change = [jnp.swapaxes(part, -1, -2) for part in (dD, dU, dE)] if turned else [dD, dE, dU]
            right -= _times_general(change[0], change[1], change[2], known["x"])
        sweep = primitive if turned else general_solve_p
        found["x"] = sweep.bind(known["value"], *matrix, right, inverse=parameters["inverse"])[0]
    return results, [found[name] for name in outputs]


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


def _changes_of_inverse(blocks_of_inverse: Any, D: Any, E: Any, *changes: Any, signs: bool) -> list[Any]:
    if _all_zero(*changes):
        return list(map(_zero, blocks_of_inverse))
    dD, dE = _filled(changes, (D, E))
    scale = jax.lax.stop_gradient(jnp.max(abs(blocks_of_inverse[0]), (1, 2, 3)))
    return call(change_of_inverse_p, D, E, scale, symmetric(dD), dE, signs=signs)


def _change_of_inverse(D: Any, E: Any, scale: Any, dD: Any, dE: Any, *, signs: bool) -> list[Any]:
    """The blocks of -A^-1 V A^-1, where V has the symmetric blocks dD and dE. scale: about the largest entry of A^-1, by member; the result
    does not depend on it."""
    n, step = D.shape[-1], step_of_inverse(D.shape[-1], D.dtype)
    largest = jnp.maximum(jnp.max(abs(dD), (1, 2, 3)), jnp.max(abs(dE), (1, 2, 3), initial=0)) * scale
    e = (step / jnp.where(largest == 0, 1, largest)).astype(D.dtype)[:, None, None, None]
    double = [jnp.block([[block, e * change], [e * change, block]]) for block, change in ((D, dD), (E, dE))]
    (value,) = factor_p.bind(*double, rhs=1, inverse=True, accept=True, signs=signs)
    return [block[..., n:, :n] / e for block in selected_inverse_p.bind(value, *double, inverse=True)]


def _change_of_inverse_jvp(primals: Any, tangents: Any, *, signs: bool) -> Any:
    """It is linear in dD and dE, and its change with A follows from the rules of what it is made of."""
    D, E, scale, *changes = primals
    results = change_of_inverse_p.bind(*primals, signs=signs)
    dD, dE, _, *of_changes = tangents
    parts: list[Any] = []
    if not _all_zero(*of_changes):
        parts.append(call(change_of_inverse_p, D, E, scale, *_filled(of_changes, changes), signs=signs))
    if not _all_zero(dD, dE):

        def at(D: Any, E: Any) -> list[Any]:
            return _change_of_inverse(D, E, scale, *changes, signs=signs)

        parts.append(jax.jvp(at, (D, E), tuple(_filled((dD, dE), (D, E))))[1])
    return results, [sum(part[1:], part[0]) for part in zip(*parts)] if parts else list(map(_zero, results))


def _change_of_inverse_transpose(cotangents: Any, D: Any, E: Any, scale: Any, dD: Any, dE: Any, *, signs: bool) -> Any:
    """It is its own adjoint, where E stands for two blocks of A."""
    if _all_zero(*cotangents):
        return [None, None, None, ad.Zero(dD.aval), ad.Zero(dE.aval)]
    of_diagonal, of_lower = _filled(cotangents, (D, E))
    diagonal, below = call(change_of_inverse_p, D, E, scale, symmetric(of_diagonal), of_lower / 2, signs=signs)
    return [None, None, None, diagonal, 2 * below]


for _primitive_of in _NAMES:
    ad.primitive_jvps[_primitive_of] = functools.partial(_jvp, _primitive_of)
for _primitive_of in (p for p in _NAMES if "U" in _NAMES[p][0]):
    ad.primitive_jvps[_primitive_of] = functools.partial(_general_jvp, _primitive_of)
ad.primitive_jvps[change_of_inverse_p] = _change_of_inverse_jvp
ad.primitive_transposes[change_of_inverse_p] = _change_of_inverse_transpose
for _primitive_of, _adjoint in (
    (solve_p, solve_p),
    (forward_p, backward_p),
    (backward_p, forward_p),
    (general_solve_p, general_solve_transposed_p),
    (general_solve_transposed_p, general_solve_p),
):
    ad.primitive_transposes[_primitive_of] = functools.partial(_transpose, _adjoint)
mlir.register_lowering(change_of_inverse_p, mlir.lower_fun(_change_of_inverse, multiple_results=True))


# Batches: one launch for all of them. Where only b has a batch there is one factor, and more right-hand sides.


def _batch(primitive: Any, arguments: Any, axes: Any, **parameters: Any) -> Any:
    inputs, _ = _NAMES[primitive]
    if inputs[-1] == "b" and all(axis is None for axis in axes[:-1]):
        return _batch_columns(primitive, arguments, axes[-1], **parameters)
    if "value" in inputs and axes[0] is None:
        raise SpecError("a factor without a batch cannot be differentiated along a batch of D or E; factor the batch")
    return _batch_members(primitive, arguments, axes, **parameters)


def _batch_columns(primitive: Any, arguments: Any, axis: int, **parameters: Any) -> Any:
    *others, b = arguments
    b, last = jnp.moveaxis(b, axis, -1), b.ndim - 1
    results = primitive.bind(*others, b.reshape(*b.shape[: max(last - 1, 1)], -1), **parameters)
    return [*results[:-1], results[-1].reshape(b.shape)], [*[None] * (len(results) - 1), last]


def _batch_members(primitive: Any, arguments: Any, axes: Any, **parameters: Any) -> Any:
    size = next(argument.shape[axis] for argument, axis in zip(arguments, axes) if axis is not None)

    def flat(argument: Any, axis: int | None) -> Any:
        some = jnp.broadcast_to(argument, (size, *argument.shape)) if axis is None else jnp.moveaxis(argument, axis, 0)
        return some.reshape(size * some.shape[1], *some.shape[2:])

    results = primitive.bind(*map(flat, arguments, axes), **parameters)
    return [result.reshape(size, result.shape[0] // size, *result.shape[1:]) for result in results], [0] * len(results)


for _primitive_of in _NAMES:
    batching.primitive_batchers[_primitive_of] = functools.partial(_batch, _primitive_of)


# Primitives of images and sparse systems: (values, b) -> x.


def make_solution(name: str, batch_values: Any = _batch_members, implementation: Any = None) -> Any:
    """batch_values: the rule where values of A have a batch. Where b alone has one there are more right-hand sides."""

    def shapes(values: Any, b: Any, **parameters: Any) -> list[Any]:
        return [abstract_like(b, b.shape, b.dtype)]

    def batch(arguments: Any, axes: Any, **parameters: Any) -> Any:
        if axes[0] is None:
            return _batch_columns(primitive, arguments, axes[1], **parameters)
        return batch_values(primitive, arguments, axes, **parameters)

    primitive = _make_primitive(name, shapes)
    batching.primitive_batchers[primitive] = batch
    if implementation is not None:
        primitive.def_impl(implementation)
    return primitive


def solution(primitive: Any, times: Any, values: Any, b: Any, *parameters: Any) -> Any:
    """A^-1 b, with the derivatives of A x, which is ``times``. parameters: those of the primitive for A, and for A'."""

    def with_parameters(one: dict[str, Any]) -> Any:
        def solve(_: Any, right: Any) -> Any:
            return call(primitive, values, right, **one)[0]

        return solve

    return jax.lax.custom_linear_solve(times, b, *map(with_parameters, parameters))


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
