"""Fits the constants of the variants' time models to trials of `trifold tune`, and prints them as generator/devices/*.json has them.

    trifold tune --block 4,8,17,24,40,64,72,80,88,96,128 --horizon 8,50,512,4096 --batch 1,16,256,4096 --precision f64,f32 \\
        --operation factor+factor_solve --hot --log fit.jsonl
    python tools/tune/fit.py build/lean/bin/trifold fit.jsonl [more.jsonl] [--variant team]

Needs SciPy. Trials without pinned knobs count. A third of the points of the first file is held out: how well the fit predicts those is
printed, not used. Further files are fitted to as a whole. Records near the best of their point count most, since these are compared."""

import argparse
import collections
import hashlib
import json
import math
import subprocess
import tempfile

import numpy as np
from scipy.optimize import min_squares

OPERATIONS = {"factor_solve": 1.0, "factor": 0.6}  # with their weights
OURS = ("fit_weight", "held_out", "is_of_first", "modelled")  # fields that are added to trials


def point_of(record):
    return (record["target"], json.dumps(record["spec"]), record["workers"])


def is_held_out(record):
    return hashlib.sha256(repr(point_of(record)).encode()).digest()[0] % 3 == 0


def read(path):
    """The sound trials. Those with pinned knobs are left out."""
    with open(path) as lines:
        records = [json.loads(line) for line in lines]
    return [
        record
        for record in records
        if record.get("verdict") == "sound" and ":" not in record["variant"] and set(OPERATIONS) <= set(record["seconds"])
    ]


def weigh(records):
    best = collections.defaultdict(lambda: math.inf)
    for record in records:
        best[point_of(record)] = min(best[point_of(record)], record["seconds"]["factor_solve"])
    for record in records:
        record["fit_weight"] = max(best[point_of(record)] / record["seconds"]["factor_solve"], 0.25)


class Program:
    """`trifold tune model`, which models the records again and again."""

    def __init__(self, program, trials, variant):
        command = [program, "tune", "model", trials, "--variant", variant]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.constants = json.loads(self.process.stdout.readline())

    def seconds(self, constants):
        self.process.stdin.write(json.dumps(constants) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


def errors(program, names, logarithms, records):
    """Logarithms of time over modelled time: a row for each record, a column for each operation."""
    modelled = program.seconds(dict(zip(names, np.exp(logarithms))))
    return np.array(
        [
            [math.log(record["seconds"][operation] / seconds[operation]) for operation in OPERATIONS]
            for record, seconds in zip(records, modelled)
        ]
    )


def fit(program, records):
    names = list(program.constants)
    start = np.log([program.constants[name] for name in names])
    weights = np.sqrt([record["fit_weight"] * (not record["held_out"]) for record in records])
    weights = np.outer(weights, np.sqrt(list(OPERATIONS.values())))

    def residuals(logarithms):
        return (weights * errors(program, names, logarithms, records)).ravel()

    found = min_squares(residuals, start, loss="soft_l1", f_scale=0.15, bounds=(start - 4, start + 4), diff_step=1e-4, max_nfev=40)
    return names, found.x


def describe(variant, records, of_all):
    for held_out in False, True:
        chosen = [k for k, record in enumerate(records) if record["held_out"] == held_out]
        for column, operation in enumerate(OPERATIONS):
            part = of_all[chosen, column]
            print(
                f"{variant}, {'held out' if held_out else 'fitted'}, {operation}: {len(chosen)} records, time over modelled time"
                f" {math.exp(part.mean()):.3f}, scattered by a factor of {math.exp(part.std()):.3f},"
                f" at most {math.exp(abs(part).max()):.2f}"
            )


def describe_regret(records, which, said):
    """Of the pair of least modelled time over the fastest, of those that were measured. `records` are of the first file."""
    points = collections.defaultdict(list)
    for record in records:
        if which(record):
            points[point_of(record)].append(record)
    for operation in OPERATIONS:
        ratios = []
        for candidates in points.values():
            taken = min(candidates, key=lambda record: record["modelled"][operation])["seconds"][operation]
            ratios.append(taken / min(record["seconds"][operation] for record in candidates))
        mean = math.exp(sum(map(math.log, ratios)) / max(len(ratios), 1))
        print(f"regret, {said}, {operation}: {len(ratios)} points, geometric mean {mean:.3f}, largest {max(ratios, default=1):.2f}")


def nested(names, values):
    tree = {}
    for name, value in zip(names, values):
        *path, last = name.split(".")[2:]
        node = tree
        for part in path:
            node = node.setdefault(part, {})
        node[last] = float(f"{value:.3g}")
    return tree


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="trifold")
    parser.add_argument("records", nargs="+")
    parser.add_argument("--variant", nargs="+", default=["fused", "tiled", "team", "dataflow", "tile-dataflow"])
    options = parser.parse_args()
    records = []
    for number, path in enumerate(options.records):
        some = read(path)
        weigh(some)
        for record in some:
            record["is_of_first"] = number == 0
            record["held_out"] = number == 0 and is_held_out(record)
        records += some
    for variant in options.variant:
        own = [record for record in records if record["variant"] == variant]
        with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as trials:
            trials.writelines(json.dumps({name: record[name] for name in record if name not in OURS}) + "\n" for record in own)
            trials.flush()
            program = Program(options.program, trials.name, variant)
        names, logarithms = fit(program, own)
        describe(variant, own, errors(program, names, logarithms, own))
        for record, seconds in zip(own, program.seconds(dict(zip(names, np.exp(logarithms))))):
            record["modelled"] = seconds
        print(json.dumps({variant: nested(names, np.exp(logarithms))}))
    first = [record for record in records if record["is_of_first"] and "modelled" in record]
    describe_regret(first, lambda record: not record["held_out"], "fitted")
    describe_regret(first, lambda record: record["held_out"], "held out")
    for least, most in (1, 4), (5, 64), (65, 10**9):
        describe_regret(first, lambda record: least <= record["spec"]["batch"] <= most, f"{least} to {most} systems")


if __name__ == "__main__":
    main()
