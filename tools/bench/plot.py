#!/usr/bin/env python3
"""Draws the JSON of `trifold bench`: our curves, the peers' and the floor, and published numbers with them."""

import argparse
import io
import json
import pathlib
import sys

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402  (the backend comes first)
from PIL import Image  # noqa: E402  (matplotlib brings it)

COLOURS = {
    "trifold": "#1f5fa8",
    "cudss": "#4c9a2a",
    "cublas-cyclic": "#d0812b",
    "cublas-recursive": "#a8541f",
    "cublas-sequential": "#d0812b",
    "lapack": "#8a6fb0",
    "blockdss": "#b0307a",
}
QUANTILES = {"p50": "median", "p99": "p99", "p99.9": "p99.9", "maximum": "maximum"}
# Another word for the same work, of which the faster counts.
SAME = {"refactor": "factor"}
LEGEND_WIDTH = 2.0  # inches
# Milliseconds of BlockDSS, table 1 and section 4.2, by suite, solver and operation: one NVIDIA H200, CUDA 12.4, f64, mean of 10 runs.
PUBLISHED_SIZES = {"table1": [(256, 1024), (512, 512), (1024, 256), (2048, 128), (4096, 64), (8192, 32)], "kalman": [(100, 256)]}
PUBLISHED = {
    ("table1", "cudss", "factor"): [298.02, 259.35, 173.87, 29.87, 10.66, 4.33],
    ("table1", "cudss", "solve"): [48.57, 55.36, 6.29, 2.53, 1.13, 0.68],
    ("table1", "blockdss", "factor"): [273.35, 120.56, 61.72, 41.91, 12.65, 7.95],
    ("table1", "blockdss", "solve"): [41.71, 41.53, 21.7, 30.86, 6.84, 4.36],
    ("kalman", "cudss", "factor"): [27.5],
    ("kalman", "cudss", "solve"): [1.8],
    ("kalman", "blockdss", "factor"): [13.3],
    ("kalman", "blockdss", "solve"): [8.6],
}


class BadInput(Exception):
    """What was given cannot be drawn."""


def read(path):
    try:
        with open(path, encoding="utf-8") as file:
            whole = json.load(file)
        # Files of older releases do not say when they were measured.
        where = ", ".join(whole[key] for key in ("device", "date") if key in whole)
        return [{**result, "where": where} for result in whole["results"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadInput(f"'{path}' is not the JSON of trifold bench: {error}") from error


def size(result):
    return (result["horizon"], result["block"], result.get("batch", 1))


def size_text(key):
    return "x".join(str(part) for part in (key if key[2] > 1 else key[:2]))


class Axis:
    """N or n where only that varies, else the sizes, one after the other."""

    def __init__(self, results):
        self.sizes = list(dict.fromkeys(size(result) for result in results))
        horizons, blocks, batches = (set(column) for column in zip(*self.sizes))
        self.label, self.part = "N x n", None
        if len(batches) == 1 and len(blocks) == 1 and len(horizons) > 2:
            self.label, self.part = f"N (n = {next(iter(blocks))})", 0
        elif len(batches) == 1 and len(horizons) == 1 and len(blocks) > 2:
            self.label, self.part = f"n (N = {next(iter(horizons))})", 1
        elif len(batches) > 1 or batches != {1}:
            self.label = "N x n x systems"

    def place(self, result):
        return self.sizes.index(size(result)) if self.part is None else size(result)[self.part]

    def finish(self, panel):
        panel.set_xlabel(self.label)
        panel.set_yscale("log")
        panel.minorticks_off()
        if self.part is None:
            panel.set_xticks(range(len(self.sizes)), [size_text(key) for key in self.sizes], rotation=30, ha="right")
        else:
            panel.set_xscale("log", base=2)
            panel.minorticks_off()
            panel.xaxis.set_major_formatter(lambda value, _: f"{value:g}")


def best_of(results):
    """The fastest result of every solver, precision, operation and size, over schedules and variants."""
    best = {}
    for result in results:
        operation = SAME.get(result["operation"], result["operation"])
        key = (result["solver"], result["precision"], operation, size(result))
        if key not in best or result["seconds"]["median"] < best[key]["seconds"]["median"]:
            best[key] = result
    return best


def points_of(best, solver, precision, operation):
    """Results and seconds; a solver that does not do both in one call does one after the other."""

    def seconds(key, what):
        result = best.get((solver, precision, what, key))
        return result["seconds"]["median"] if result else None

    points = []
    for key in dict.fromkeys(key[3] for key in best):
        parts = [seconds(key, operation)]
        if parts == [None] and operation == "factor_solve":
            parts = [seconds(key, "factor"), seconds(key, "solve")]
        if None not in parts:
            points.append((dict(zip(("horizon", "block", "batch"), key)), sum(parts)))
    return points


def lines_of(suite, operation, results, with_published):
    """Lines of a panel: label, results with seconds, style."""
    best = best_of(results)
    for solver, precision in dict.fromkeys(key[:2] for key in best):
        dash, marker = ("-", "o") if precision == "f64" else ("--", "s")
        style = {"color": COLOURS.get(solver, "black"), "linestyle": dash, "marker": marker}
        yield f"{solver} {precision}", points_of(best, solver, precision, operation), style
    floors = {
        key[3]: (r, r["floor_seconds"]) for key, r in best.items() if key[1:3] == ("f64", operation) and r["floor_seconds"] is not None
    }
    yield "floor f64", floors.values(), {"color": "#777777", "linestyle": (0, (1, 1)), "marker": "_"}
    sizes = {size(result) for result in results}
    for (of_suite, solver, what), milliseconds in PUBLISHED.items() if with_published else ():
        if (of_suite, what) == (suite, operation):
            rows = [{"horizon": N, "block": n} for N, n in PUBLISHED_SIZES[suite]]
            points = [(row, time * 1e-3) for row, time in zip(rows, milliseconds) if size(row) in sizes]
            yield f"{solver} f64, published", points, {"color": COLOURS.get(solver, "black"), "linestyle": "none", "marker": "x"}


def draw_operation(panel, axis, operation, lines):
    for label, points, style in lines:
        if points:
            places = sorted((axis.place(result), seconds * 1e6) for result, seconds in points)
            panel.plot(*zip(*places), label=label, markersize=3.5, linewidth=1.2, **style)
    panel.set_title(operation)
    axis.finish(panel)


def draw_latency(panel, results):
    for result in results:
        alone = result["solver"] == "no solver"
        what = result["operation"] if alone else f"{size_text(size(result))} {result['precision']}"
        if result["operation"].endswith(", kernels"):
            what += " kernels"
        label = f"{what}, {result['calls_per_second']:g}/s"
        panel.plot(list(QUANTILES), [result["seconds"][key] * 1e6 for key in QUANTILES.values()], marker="o", markersize=3.5, label=label)
    panel.set_title("factor_solve, by the host's clock unless of kernels")
    panel.set_yscale("log")


def draw(suite, results, with_published):
    operations = list(dict.fromkeys(SAME.get(r["operation"], r["operation"]) for r in results if r["operation"] != "analysis"))
    latency = any(result["calls_per_second"] is not None for result in results)
    count = 1 if latency else len(operations)
    figure, panels = plt.subplots(1, count, figsize=(3.9 * count + LEGEND_WIDTH, 4), squeeze=False)
    if latency:
        draw_latency(panels[0][0], results)
    else:
        for panel, operation in zip(panels[0], operations):
            draw_operation(panel, Axis(results), operation, lines_of(suite, operation, results, with_published))
    lines = {}
    for panel in panels[0]:
        panel.grid(True, which="major", linewidth=0.3)
        lines.update(zip(*reversed(panel.get_legend_handles_labels())))
    panels[0][0].set_ylabel("microseconds" if latency else "microseconds (median)")
    figure.suptitle("; ".join([suite, *dict.fromkeys(result["where"] for result in results if result["where"])]))
    width = figure.get_figwidth()
    figure.legend(lines.values(), lines.keys(), loc="center right")
    figure.tight_layout(rect=(0, 0, 1 - LEGEND_WIDTH / width, 1))
    return figure


def save(figure, path):
    """Saves a figure: equal results give equal bytes. A PNG is a picture of a page: 32 colours do for lines, and keep it below 60 KB."""
    if not path.endswith(".png"):
        figure.savefig(path, metadata={"Date": None})
        return
    memory = io.BytesIO()
    figure.savefig(memory, format="png", dpi=95)
    Image.open(memory).convert("RGB").quantize(colors=32).save(path, optimize=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", nargs="+", help="JSON of `trifold bench`, one file or more")
    parser.add_argument("--suite", help="which to draw; the only one in the files when it is not given")
    parser.add_argument("--precision", choices=("f32", "f64"), help="draw this one only")
    parser.add_argument("-o", "--output", required=True, help="picture to write: .png for a page, .svg for more")
    parser.add_argument("--no-published", action="store_true", help="leave published numbers out")
    options = parser.parse_args()
    try:
        results = [result for path in options.results for result in read(path) if options.precision in (None, result["precision"])]
        names = list(dict.fromkeys(result["suite"] for result in results))
        suite = options.suite or (names[0] if len(names) == 1 else None)
        if suite not in names:
            raise BadInput(f"give --suite: the files hold {', '.join(names) or 'nothing'}")
        plt.style.use(pathlib.Path(__file__).parents[1] / "look.mplstyle")
        matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "trifold", "figure.constrained_layout.use": False})
        save(draw(suite, [r for r in results if r["suite"] == suite], not options.no_published), options.output)
    except (BadInput, OSError) as error:
        sys.exit(f"plot.py: {error}")


if __name__ == "__main__":
    main()
