"""A fleet's control steps end to end, against the time that the device itself takes for them: tools/examples/python/mpc.py.

    python tools/bench/python/mpc.py --device cuda

4096 quadratic programs of n = 12 and N = 20 with bounded inputs, ten iterations of ADMM a step, each one solution for the whole fleet.
New states are in pinned memory of the host, and the inputs end there. "Call" is the median from the first to the second; "on the device"
the same where both stay on the device. "Replay" is the device's time alone, of a captured step among many in a row; "kernels" is the sum
of what the profiler says of each kernel and copy. "Of replay" and "of kernels" are the share of the rate that they allow, end to end.
"""

from __future__ import annotations

import collections
import importlib.util
import statistics
import sys
from pathlib import Path

import measure
import torch

SHARE = 0.7  # goal
ITERATIONS = 10


def _example():
    path = Path(__file__).parents[2] / "examples/python/mpc.py"
    spec = importlib.util.spec_from_file_location("fleet", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["fleet"] = module
    spec.loader.exec_module(module)
    return module


example = _example()


def states(fleet, dtype, device, seed):
    """Positions within 2 of the origin, at rest."""
    x = torch.zeros(fleet, 12)
    x[:, ::4] = 4 * torch.rand(fleet, 3, generator=torch.Generator().manual_seed(seed)) - 2
    x = x.to(dtype)
    return x.to(device) if device != "host" else x.pin_memory()


def check_forms(fleet, dtype, device):
    """Several steps in one form after another, from the same states. Returns the largest difference of inputs."""
    A, B = example.models(fleet, dtype, device)
    eager, other = example.Controller(A, B), example.steps_of(example.Controller(A, B), ITERATIONS, device)
    errors = []
    for seed in range(3):
        x = states(fleet, dtype, device, seed)
        errors.append(measure.close("captured", other(x).cpu(), eager.step(x, ITERATIONS).cpu(), 1e-12 if dtype == torch.float64 else 1e-5))
    return max(errors)


def residual(control):
    b = torch.randn_like(control.factor.D[..., 0])
    left = measure.residual(control.factor.D, control.factor.E, b, control.factor.solve(b))
    if not left <= 4 * torch.finfo(b.dtype).eps:
        raise AssertionError(f"a residual of {left:.1e}")
    return left


def replay_seconds(captured, rounds=7, calls=20):
    """Of the device for a step, by events around many in a row."""
    times = []
    for _ in range(rounds):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(calls):
            captured.graph.replay()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end) / 1e3 / calls)
    return statistics.median(times)


def profile(step, x, calls=10):
    """{name: (seconds, count)} of all that the device does in a call; nothing where its counters are not to be had."""
    from torch.autograd import DeviceType
    from torch.profiler import ProfilerActivity, profile as profiler

    torch.cuda.synchronize()
    try:
        with profiler(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as record:
            for _ in range(calls):
                step(x)
            torch.cuda.synchronize()
    except RuntimeError as error:
        print(f"no profile: {error}", file=sys.stderr)
        return {}
    found = collections.defaultdict(lambda: (0.0, 0.0))
    for event in record.events():
        if event.device_type == DeviceType.CUDA:
            seconds, count = found[event.name]
            found[event.name] = seconds + event.time_range.elapsed_us() / 1e6 / calls, count + 1 / calls
    return dict(found)


def print_profile(title, kernels, most=12):
    total = sum(seconds for seconds, _ in kernels.values())
    table = measure.Table(title, ["kernel", "a step", "time", "share"])
    for name, (seconds, count) in sorted(kernels.items(), key=lambda item: -item[1][0])[:most]:
        short = name.removeprefix("void ").split("(")[0][:90]
        table.add(kernel=short, a_step=round(count, 1), time_s=seconds, share=f"{100 * seconds / total:.0f} %")
    return table


def run(table, dtype, fleet, device, repeats):
    """Rows of the eager form, and of the captured one where there is a GPU. Returns tables of kernels."""
    A, B = example.models(fleet, dtype, device)
    control = example.Controller(A, B)
    forms = {"eager": lambda x: control.step(x.to(device, non_blocking=True), ITERATIONS)}
    on_gpu = device != "cpu"
    wait = (lambda _: torch.cuda.synchronize()) if on_gpu else (lambda _: None)
    if on_gpu:
        forms["captured"] = captured = example.Captured(control, ITERATIONS)
        alone, back = replay_seconds(captured), torch.empty(fleet, 3, dtype=dtype).pin_memory()
    profiles, left, apart = [], residual(control), check_forms(fleet, dtype, device)

    def timed(step, where):
        return measure.median(step, lambda i: (states(fleet, dtype, where, i),), wait, repeats, warm=5)[0]

    for form, step in forms.items():
        row = {"type": str(dtype).split(".")[1], "form": form, "residual": left, "forms_off": apart}
        row["call_s"] = row["on_the_device_s"] = timed(step, device)
        if on_gpu:
            row["call_s"] = timed(lambda x, step=step: back.copy_(step(x), non_blocking=True), "host")
            row |= {"replay_s": alone, "of_replay": alone / row["call_s"]}
            kernels = profile(step, states(fleet, dtype, device, 0))
            if kernels:
                row["kernels_s"] = sum(seconds for seconds, _ in kernels.values())
                row["of_kernels"], row["launches"] = row["kernels_s"] / row["call_s"], round(sum(count for _, count in kernels.values()))
                profiles.append((f"Kernels of a step, {form}, {row['type']}", kernels))
        table.add(programs=fleet, steps_a_second=round(1 / row["call_s"]), **row)
    return profiles


def main(arguments=None):
    parser = measure.parser(__doc__)
    parser.add_argument("--fleet", type=int)
    options = parser.parse_args(arguments)
    fleet = options.fleet or (5 if options.small else 4096)
    name = torch.cuda.get_device_name() if options.device == "cuda" else "cpu"
    columns = ["programs", "type", "form", "call", "steps a second", "on the device", "replay", "kernels", "launches"]
    table = measure.Table(
        f"Control steps of {ITERATIONS} iterations, n = 12, N = {example.N}, {name}",
        [*columns, "of replay", "of kernels", "residual", "forms off"],
    )
    profiles = []
    for dtype in (torch.float32, torch.float64):
        profiles += run(table, dtype, fleet, options.device, options.repeats or (3 if options.small else 50))
    tables = [table, *(print_profile(*each) for each in profiles)]
    print(f"\nThe goal is a share of {SHARE} of what the device's time alone allows.")
    return measure.write(options, *tables)


if __name__ == "__main__":
    main()
