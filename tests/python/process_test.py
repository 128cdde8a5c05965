"""Threads, forks and the end of the interpreter."""

import json
import os
import signal
import subprocess
import sys
import threading
import time

import grids
import numpy as np
import pytest
import trifold
from problems import make, rhs, solution


def run_all(works):
    errors = []

    def guarded(work):
        try:
            work()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


@pytest.mark.parametrize("workers", [1, 2])
def test_an_interruption_ends_a_long_call(workers):
    """Python handles Ctrl-C when a call returns, so a long one looks for it; and the next call is as before."""
    sp, sparse = pytest.importorskip("scipy.sparse"), pytest.importorskip("trifold.sparse")
    line = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(300, 300))
    A = sp.kronsum(line, line).tocsr()
    s = sparse.Solver(A, method="cg", preconditioner="none", maxiter=10**6, workers=workers)
    b = np.random.default_rng(0).standard_normal(A.shape[0])
    expected = s.solve(b, maxiter=20, check=False).x
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # processes in the background ignore it
    try:
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            while True:  # until it comes
                began = time.monotonic()
                s.solve(b, rtol=0, check=False)
    finally:
        signal.signal(signal.SIGINT, before)
    assert time.monotonic() - began < 5
    np.testing.assert_array_equal(s.solve(b, maxiter=20, check=False).x, expected)


def chain(workers=1):
    """A factor, functions that solve, which should all give the same bits, and right-hand sides by number."""
    D, E = make(8, 40)
    f, solver = trifold.factor(D, E, workers=workers), trifold.Plan(block=8, horizon=40, workers=workers).solver()
    solver.factor(D, E)
    others = lambda b: trifold.solve(D, E, b, workers=workers), lambda b: trifold.factor(D, E, workers=workers).solve(b)
    return f, others, solver.solve, lambda k: rhs(8, 40, seed=k)


def image(workers=1):
    stencil = grids.make(33, 31)
    others = (
        lambda b: trifold.grid.solve(stencil, b, workers=workers),
        lambda b: trifold.grid.factor(stencil, workers=workers).solve(b),
    )
    f = trifold.grid.factor(stencil, workers=workers)
    return f, others, f.solve, lambda k: grids.rhs(33, 31, seed=k)


@pytest.mark.parametrize("family", [chain, image])
def test_threads_share_a_factor_and_the_solvers(family):
    f, others, _, right = family()

    def work(b, expected):
        for _ in range(30):
            for solve in (f.solve, *others):
                np.testing.assert_allclose(solve(b), expected, rtol=1e-14, atol=0)

    assert run_all([lambda b=b, x=f.solve(b): work(b, x) for b in map(right, range(4))]) == []


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::RuntimeWarning")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("family", [chain, image])
def test_a_forked_process_goes_on(family, workers):
    f, others, own, right = family(workers)
    b = right(0)
    expected = f.solve(b)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            same = [f.solve(b), own(b), others[0](b)]
            del f, own
            same.append(others[1](b))
            status = 0 if all(np.allclose(x, expected, rtol=1e-12) for x in same) else 2
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    np.testing.assert_array_equal(f.solve(b), expected)


def test_threads_that_share_a_solver_are_told():
    D, E = make(17, 100)
    b = rhs(17, 100)
    solver = trifold.Plan(block=17, horizon=100).solver()
    solver.factor(D, E)

    def work():
        for _ in range(300):
            solver.factor(D, E)

    errors = run_all([work] * 4)
    assert all(isinstance(error, trifold.SpecError) and "another thread" in str(error) for error in errors)
    np.testing.assert_allclose(solver.factor_solve(D, E, b), solution(D, E, b), rtol=1e-8, atol=1e-10)


def test_many_threads_make_one_plan():
    handles = []
    assert run_all([lambda: handles.append(trifold.Plan(block=5, horizon=9).handle)] * 8) == []
    assert len(set(handles)) == 1


def test_other_threads_run_during_a_call():
    D, E = make(64, 600)
    solver = trifold.Plan(block=64, horizon=600).solver()
    solver.factor(D, E)
    done = threading.Event()
    seen = []

    def watch():
        while not done.is_set():
            seen.append(1)
            done.wait(0.0005)

    thread = threading.Thread(target=watch)
    thread.start()
    before = len(seen)
    for _ in range(5):
        solver.factor(D, E)
    after = len(seen)
    done.set()
    thread.join()
    assert after > before


def test_arrays_are_held_while_a_call_runs():
    D, E = make(32, 30)
    b = rhs(32, 30)
    expected = solution(D, E, b)
    f = trifold.factor(D, E)
    calling = threading.Event()
    stop = threading.Event()
    own = [b.copy()]

    def drop():
        calling.wait()
        while not stop.is_set():
            own[0] = b.copy()  # what a call may have begun with has no name any more
            memory = [np.full(960, np.nan) for _ in range(4)]
            del memory

    thread = threading.Thread(target=drop)
    thread.start()
    calling.set()
    for _ in range(100):
        np.testing.assert_allclose(f.solve(own[0]), expected, rtol=1e-8, atol=1e-10)
    stop.set()
    thread.join()


def test_arrays_that_another_thread_writes():
    D, E = make(8, 100)
    b = rhs(8, 100)
    stop = threading.Event()

    def scribble():
        while not stop.is_set():
            D[...] = np.random.default_rng().standard_normal(D.shape)

    thread = threading.Thread(target=scribble)
    thread.start()
    for _ in range(200):
        trifold.solve(D, E, b, check=False)
    stop.set()
    thread.join()


def test_a_package_for_users_reads_no_templates_and_says_so(tmp_path):
    environment = dict(os.environ, TRIFOLD_CACHE_DIR=str(tmp_path), TRIFOLD_TEMPLATES="/nowhere")
    script = "import trifold; print(trifold.Plan(block=2, horizon=3).block)"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment, timeout=120)
    assert ran.stdout == "2\n", ran.stderr
    assert "TRIFOLD_TEMPLATES does nothing in this build" in ran.stderr


def test_no_descriptors_left_is_an_error_that_names_the_limit(tmp_path):
    script = """
import os, resource, trifold

taken = os.open("/", os.O_RDONLY)  # the least number that is free
os.close(taken)
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (taken, hard))
try:
    trifold.Plan(block=2, horizon=3)
except trifold.DeviceError as error:
    print(f"the limit is {taken} (ulimit -n)" in str(error), error)
resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
print(trifold.Plan(block=2, horizon=3).block)
"""
    environment = dict(os.environ, TRIFOLD_CACHE_DIR=str(tmp_path))
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment, timeout=120)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith("True") and ran.stdout.endswith("\n2\n"), ran.stdout


EXIT = """
import threading, time
import numpy as np
import trifold
D = np.tile(4 * np.eye(16), (200, 1, 1)); E = np.tile(-np.eye(16), (199, 1, 1)); b = np.ones((200, 16))
f = trifold.factor(D, E)
def work():
    try:
        while True: f.solve(b)
    except NameError:  # f is gone; told by a thread at the end of the interpreter, that would end the process
        pass
for _ in range(3): threading.Thread(target=work, daemon=True).start()
time.sleep(0.1)
{end}
"""


@pytest.mark.parametrize("end", ["", "raise SystemExit(0)", "del f"])
def test_the_interpreter_ends_while_threads_are_in_calls(end):
    for _ in range(3):
        ended = subprocess.run([sys.executable, "-c", EXIT.format(end=end)], capture_output=True, text=True, timeout=60)
        assert ended.returncode == 0, ended.stderr
        assert "terminate" not in ended.stderr and "Fatal" not in ended.stderr


CAPTURED = """
import numpy as np
import trifold
D = np.tile(4 * np.eye(3), (5, 1, 1)); E = np.tile(-np.eye(3), (4, 1, 1)); b = np.ones((5, 3))
solver = trifold.Plan(block=3, horizon=5).solver()
for _ in range(10): solver.factor_solve(D, E, b)
f = trifold.factor(D, E)
for _ in range(3): f.solve(b)
"""


def test_what_a_program_solves_is_captured(tmp_path):
    file = tmp_path / "specs.jsonl"
    subprocess.run([sys.executable, "-c", CAPTURED], env={**os.environ, "TRIFOLD_CAPTURE": str(file)}, check=True, timeout=60)
    last = {line["id"]: line for line in map(json.loads, file.read_text().splitlines())}
    calls = {}
    for line in last.values():
        assert (line["spec"]["block"], line["spec"]["horizon"]) == (3, 5)
        for operation, used in line["operations"].items():
            calls[operation] = calls.get(operation, 0) + used["calls"]
    assert calls == {"factor_solve": 10, "factor": 1, "solve": 3}
