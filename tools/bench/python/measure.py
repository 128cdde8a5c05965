"""What the benchmarks of this folder share: their options, medians, tables in Markdown, and results as JSON."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from pathlib import Path

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # torch and JAX share the device


def parser(description):
    """Options that all have."""
    result = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    result.add_argument("--small", action="store_true", help="small sizes, to see in seconds that it works")
    result.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    result.add_argument("--repeats", type=int, help="timed calls, each with new random data")
    result.add_argument("--json", type=Path, help="file for the same numbers")
    return result


def jax_on(device):
    """JAX in float64 with its first device of that kind as the default, and that device."""
    import jax

    jax.config.update("jax_enable_x64", True)
    chosen = jax.devices("gpu" if device == "cuda" else "cpu")[0]
    jax.config.update("jax_default_device", chosen)
    return jax, chosen


def seconds(call, wait=lambda _: None):
    """(seconds, result) of call(); wait(result) ends the clock."""
    start = time.perf_counter()
    result = call()
    wait(result)
    return time.perf_counter() - start, result


def median(call, make, wait, repeats, warm=2):
    """(median seconds, last result) of call(*make(i)): data are new and ready each time; wait(result) ends the clock."""
    times, result = [], None
    for i in range(warm + repeats):
        arguments = make(i)
        wait(arguments)
        time_of_call, result = seconds(lambda: call(*arguments), wait)  # noqa: B023
        times.append(time_of_call)
    return statistics.median(times[warm:]), result


def close(name, actual, expected, tolerance):
    """Raises where numbers are further apart than this times the largest. Returns how far apart they are."""
    import numpy as np

    actual, expected = np.asarray(actual), np.asarray(expected)
    error = float(np.abs(actual - expected).max() / np.abs(expected).max())
    if not error <= tolerance:  # also where it is not a number
        raise AssertionError(f"{name}: off by {error:.1e} of the largest, {tolerance:.0e} is allowed")
    return error


def residual(D, E, b, x):
    """The largest of ||A x - b|| / (||A|| ||x||) over a batch, in norms of the largest row sums. Arrays of torch or JAX."""
    rest, size = (D @ x[..., None])[..., 0] - b, abs(D).sum(-1)
    if E.shape[-3]:
        down, up = (E @ x[..., :-1, :, None])[..., 0], (E.swapaxes(-1, -2) @ x[..., 1:, :, None])[..., 0]
        rest = rest + _shifted(down, True) + _shifted(up, False)
        size = size + _shifted(abs(E).sum(-1), True) + _shifted(abs(E).sum(-2), False)
    rest, size, x = (abs(array).reshape(-1, D.shape[-3] * D.shape[-1]) for array in (rest, size, x))
    members = [float(rest[i].max() / (size[i].max() * x[i].max())) for i in range(min(len(rest), 64))]
    return max(members)


def _shifted(part, down):
    """With a row of zeros above or below."""
    zero = 0 * part[..., :1, :]
    xp = sys.modules["torch" if type(part).__module__.startswith("torch") else "jax.numpy"]
    return xp.concatenate((zero, part) if down else (part, zero), -2)


def duration(seconds):
    """Three digits, with a unit."""
    for unit, scale in (("s", 1), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


class Table:
    """Rows of one kind, printed as Markdown once they are there."""

    def __init__(self, title, columns):
        self.title, self.columns, self.rows = title, columns, []
        print(f"\n{title}\n\n| {' | '.join(columns)} |\n| {' | '.join('---' for _ in columns)} |", flush=True)

    def add(self, **row):
        """row: by the names of columns with _ for spaces; numbers called ..._s are shown as durations. Others are for JSON only."""
        self.rows.append(row)
        print("| " + " | ".join(self._shown(column, row) for column in self.columns) + " |", flush=True)

    @staticmethod
    def _shown(column, row):
        key = column.replace(" ", "_")
        if key + "_s" in row:
            return duration(row[key + "_s"])
        value = row.get(key, "-")
        return f"{value:.3g}" if isinstance(value, float) else str(value)


def write(options, *tables):
    """Writes the file that was asked for. Returns the rows of the first table."""
    if options.json:
        kept = {key: value for key, value in vars(options).items() if key != "json"}
        document = {"options": kept, "tables": [{"title": table.title, "rows": table.rows} for table in tables]}
        options.json.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return tables[0].rows
