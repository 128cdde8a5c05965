"""Runs plot.py on results made by hand and looks at the SVG."""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

PLOT = sys.argv.pop(1)


def result(suite, solver, operation, horizon, block, seconds, **more):
    values = {
        "suite": suite,
        "solver": solver,
        "operation": operation,
        "horizon": horizon,
        "block": block,
        "batch": 1,
        "precision": "f64",
        "seconds": {"median": seconds, "p99": 2 * seconds, "p99.9": 3 * seconds, "maximum": 4 * seconds},
        "floor_seconds": None,
        "calls_per_second": None,
    }
    return {**values, **more}


def blocks(seconds=1e-5, solver="trifold", operation="factor", **more):
    """Results of suite block."""
    return [result("block", solver, operation, 512, block, seconds, **more) for block in (4, 7, 12)]


class Plot(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)

    def path(self, name):
        return os.path.join(self.directory.name, name)

    def run_plot(self, results, *options):
        with open(self.path("results.json"), "w", encoding="utf-8") as file:
            json.dump({"device": "NVIDIA H200", "date": "2026-11-29", "results": results}, file)
        return subprocess.run(
            [sys.executable, PLOT, self.path("results.json"), "-o", self.path("out.svg"), *options],
            capture_output=True,
            text=True,
            check=False,
        )

    def draw(self, results, *options):
        ran = self.run_plot(results, *options)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        with open(self.path("out.svg"), encoding="utf-8") as file:
            text = file.read()
        xml.etree.ElementTree.fromstring(text)
        self.assertLess(len(text), 100_000)
        return text, [re.sub("<[^>]*>", "", line) for line in re.findall("<text.*?</text>", text, re.S)]

    def test_solvers_floor_and_published(self):
        sizes = [(8192, 32), (4096, 64), (2048, 128)]
        rows = [
            result("table1", solver, operation, *size, 1e-3 * (k + 1), floor_seconds=1e-4)
            for solver in ("trifold", "cudss")
            for operation in ("factor", "solve")
            for k, size in enumerate(sizes)
        ]
        _, words = self.draw(rows)
        expected = ["table1; NVIDIA H200, 2026-11-29", *"factor,solve,trifold f64,cudss f64,floor f64,8192x32".split(",")]
        self.assertLessEqual({*expected, "cudss f64, published", "blockdss f64, published"}, set(words))
        rows.append(result("table1", "trifold", "factor_solve", 8192, 32, 2e-3))
        self.assertEqual(self.draw(rows)[1].count("cudss f64"), 1)  # one legend for all panels
        _, words = self.draw(rows, "--no-published")
        self.assertNotIn("cudss f64, published", words)

    def test_axis_is_what_varies(self):
        horizons = [result("horizon", "trifold", "factor", horizon, 32, 1e-5) for horizon in (16, 61, 512)]
        batch = [result("batch", "trifold", "factor", 32, 12, 1e-5, batch=1024)]
        for rows, label in ((horizons, "N (n = 32)"), (blocks(), "n (N = 512)"), (batch, "32x12x1024")):
            self.assertIn(label, self.draw(rows)[1])

    def test_fastest_of_several_schedules(self):
        fast, slow = blocks(1e-5, schedule="a"), blocks(3e-5, schedule="b")
        alone = self.draw(fast)[0]
        self.assertEqual(self.draw(fast + slow)[0], alone)
        self.assertNotEqual(self.draw(slow)[0], alone)

    def test_refactor_counts_where_it_is_faster(self):
        both = blocks(2e-5, "cudss") + blocks(1e-5, "cudss", "refactor")
        self.assertEqual(self.draw(both)[0], self.draw(blocks(1e-5, "cudss"))[0])

    def test_one_precision(self):
        rows = blocks() + blocks(precision="f32")
        self.assertIn("trifold f32", self.draw(rows)[1])
        self.assertEqual(self.draw(rows, "--precision", "f64")[0], self.draw(blocks())[0])

    def test_latency(self):
        _, words = self.draw(
            [
                result("latency", "trifold", operation, 32, 12, 1e-5, calls_per_second=500)
                for operation in ("factor_solve", "factor_solve, kernels")
            ]
        )
        self.assertLessEqual({"p50", "p99.9", "maximum", "32x12 f64, 500/s", "32x12 f64 kernels, 500/s"}, set(words))

    def test_same_results_same_bytes(self):
        rows = [result("compile", "trifold", "cold start", 128, block, 1e-1) for block in (4, 8, 12)]
        self.assertEqual(self.draw(rows)[0], self.draw(rows)[0])

    def test_png_for_a_page(self):
        rows = [
            result("block", solver, operation, 512, block, 1e-5 * (k + 1))
            for solver in ("trifold", "cudss")
            for operation in ("factor", "solve", "factor_solve")
            for k, block in enumerate((4, 8, 12, 16, 32, 64, 128))
        ]
        pictures = []
        for _ in range(2):
            ran = self.run_plot(rows, "-o", self.path("out.png"))
            self.assertEqual(ran.returncode, 0, ran.stderr)
            with open(self.path("out.png"), "rb") as file:
                pictures.append(file.read())
        self.assertTrue(pictures[0].startswith(b"\x89PNG"))
        self.assertLess(len(pictures[0]), 60_000)
        self.assertEqual(pictures[0], pictures[1])

    def test_bad_input(self):
        rows = [result("block", "trifold", "factor", 512, 4, 1e-5), result("horizon", "trifold", "factor", 16, 32, 1e-5)]
        for options, message in (((), "give --suite: the files hold block, horizon"), (("--suite", "chess"), "block, horizon")):
            ran = self.run_plot(rows, *options)
            self.assertNotEqual(ran.returncode, 0)
            self.assertIn(message, ran.stderr)
            self.assertNotIn("Traceback", ran.stderr)
        with open(self.path("bad.json"), "w", encoding="utf-8") as file:
            file.write("[1]")
        for name in ("bad.json", "nothing.json"):
            ran = subprocess.run(
                [sys.executable, PLOT, self.path(name), "-o", self.path("out.svg")], capture_output=True, text=True, check=False
            )
            self.assertIn("is not the JSON of trifold bench", ran.stderr)
            self.assertNotIn("Traceback", ran.stderr)


if __name__ == "__main__":
    unittest.main()
