"""Fits the constants of the variants' time models to trials of `trifold tune`, and prints them as generator/devices/*.json has them.

    trifold tune --block 4,8,17,24,40,64,72,80,88,96,128 --horizon 8,50,512,4096 --batch 1,16,256,4096 --precision f64,f32 \\
        --operation factor+factor_solve --hot --log fit.jsonl
    python tools/tune/fit.py build/lean/bin/trifold fit.jsonl [--variant team]

Needs SciPy. Trials without pinned knobs count. A third of the points is held out: how well the fit predicts those is printed, not used.
Records near the best of their point count most, since these are compared."""

import argparse
import collections
import hashlib
import json
import subprocess
import tempfile

import numpy as np
from scipy.optimize import least_squares

OPERATIONS = {"factor_solve": 1.0, "factor": 0.6}  # with their weights
OURS = ("weight", "held_out", "modelled")  # fields that are added to trials


def point_of(record):
    return (record["target"], json.dumps(record["spec"]), record["workers"])


def times(record):
    return np.array([record["seconds"][operation] for operation in OPERATIONS])


def read(path):
    """The sound trials without pinned knobs, weighted."""
    with open(path) as lines:
        records = [json.loads(line) for line in lines]
    records = [r for r in records if r.get("verdict") == "sound" and ":" not in r["variant"] and set(OPERATIONS) <= set(r["seconds"])]
    best = {}
    for record in records:
        best[point_of(record)] = min(best.get(point_of(record), np.inf), times(record)[0])
    for record in records:
        record["weight"] = max(best[point_of(record)] / times(record)[0], 0.25)
        record["held_out"] = hashlib.sha256(repr(point_of(record)).encode()).digest()[0] % 3 == 0
    return records


class Program:
    """`trifold tune model`, which models the records again and again."""

    def __init__(self, program, trials, variant):
        command = [program, "tune", "model", trials, "--variant", variant]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.constants = json.loads(self.process.stdout.readline())

    def seconds(self, logarithms):
        """A row for each record, a column for each operation."""
        self.process.stdin.write(json.dumps(dict(zip(self.constants, np.exp(logarithms)))) + "\n")
        self.process.stdin.flush()
        return np.array([[one[operation] for operation in OPERATIONS] for one in json.loads(self.process.stdout.readline())])


def fit(options, variant, records):
    """Prints the constants of a variant, and gives each record its modelled seconds."""
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as trials:
        trials.writelines(json.dumps({name: record[name] for name in record if name not in OURS}) + "\n" for record in records)
        trials.flush()
        program = Program(options.program, trials.name, variant)
    measured = np.array([times(record) for record in records])
    start = np.log(list(program.constants.values()))
    weights = np.sqrt(np.outer([r["weight"] * (not r["held_out"]) for r in records], list(OPERATIONS.values())))
    found = least_squares(
        lambda x: (weights * np.log(measured / program.seconds(x))).ravel(),
        start,
        loss="soft_l1",
        f_scale=0.15,
        bounds=(start - 4, start + 4),
        diff_step=1e-4,
        max_nfev=40,
    ).x
    modelled = program.seconds(found)
    for record, seconds in zip(records, modelled):
        record["modelled"] = seconds
    for held_out in False, True:
        errors = np.log(measured / modelled)[[r["held_out"] == held_out for r in records]]
        for operation, part in zip(OPERATIONS, errors.T):
            said = f"{variant}, {'held out' if held_out else 'fitted'}, {operation}: {len(part)} records, time over modelled time"
            if len(part):
                mean, scatter, most = np.exp([part.mean(), part.std(), abs(part).max()])
                print(f"{said} {mean:.3f}, scattered by a factor of {scatter:.3f}, at most {most:.2f}")
    tree = {}
    for name, value in zip(program.constants, np.exp(found)):
        *path, last = name.split(".")[2:]
        node = tree
        for part in path:
            node = node.setdefault(part, {})
        node[last] = float(f"{value:.3g}")
    print(json.dumps({variant: tree}))


def describe_regret(said, records):
    """Of the pair of least modelled time over the fastest, of those that were measured."""
    points = collections.defaultdict(list)
    for record in records:
        points[point_of(record)].append(record)
    for column, operation in enumerate(OPERATIONS):
        ratios = [1.0]
        for candidates in points.values():
            taken = min(candidates, key=lambda record: record["modelled"][column])
            ratios.append(times(taken)[column] / min(times(record)[column] for record in candidates))
        mean = np.exp(np.log(ratios[1:] or ratios).mean())
        print(f"regret, {said}, {operation}: {len(points)} points, geometric mean {mean:.3f}, largest {max(ratios):.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="trifold")
    parser.add_argument("records", help="a log of trials")
    parser.add_argument("--variant", nargs="+", default=["fused", "tiled", "team", "dataflow", "tile-dataflow"])
    options = parser.parse_args()
    records = read(options.records)
    for variant in options.variant:
        fit(options, variant, [record for record in records if record["variant"] == variant])
    for held_out in False, True:
        chosen = [record for record in records if record["held_out"] == held_out and "modelled" in record]
        describe_regret("held out" if held_out else "fitted", chosen)


if __name__ == "__main__":
    main()
