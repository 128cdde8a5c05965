"""State space models: likelihoods, smoothing and draws of the states, against statsmodels, which must be installed.

    python tools/bench/python/state_space.py

"trifold" is trifold.models.sample, with all draws at once. "CFA" and "KFS" are simulation smoothers of statsmodels, which draw one after
the
other: by a banded factor of the same precision, and by a filter and a smoother. Each time is a median of whole calls with new numbers. For
"CFA off" both take the same numbers; the means of all draws must be those of the smoother, as far as so many draws tell. "Blocks" is the
part of
a likelihood that makes D, E and b.
"""

from __future__ import annotations

import importlib

import measure
import numpy as np

SIZES = ((201, 4, 1000), (201, 20, 1000), (1000, 8, 1000))
SMALL = ((20, 2, 40),)
TOLERANCE = 1e-9


def model_of(horizon, n, seed):
    """A stable model of n states, of which half are observed, and what it made."""
    random = np.random.default_rng(seed)
    F = 0.9 * np.linalg.qr(random.standard_normal((n, n)))[0]
    H, Q, R = random.standard_normal((n // 2, n)), np.eye(n), 0.5 * np.eye(n // 2)
    x, ys = random.standard_normal(n), []
    for _ in range(horizon):
        ys.append(H @ x + np.sqrt(0.5) * random.standard_normal(n // 2))
        x = F @ x + random.standard_normal(n)
    return {"F": F, "H": H, "Q": Q, "R": R, "P0": 4 * np.eye(n), "ys": np.array(ys)}


def of_statsmodels(p):
    """The same model, as statsmodels has it."""
    models = importlib.import_module("statsmodels.tsa.statespace.mlemodel")
    model = models.MLEModel(p["ys"], k_states=len(p["F"]))
    for name, value in (("design", "H"), ("obs_cov", "R"), ("transition", "F"), ("state_cov", "Q")):
        model[name] = p[value]
    model["selection"] = np.eye(len(p["F"]))
    model.ssm.initialize_known(np.zeros(len(p["F"])), p["P0"])
    return model


def one_by_one(simulate, draws):
    return np.stack([simulate() for _ in range(draws)], -1)


def programs(p, draws):
    """By name: draws (N, n, draws) of whole calls, which begin with the model."""
    import trifold

    def of_cfa():
        cfa = importlib.import_module("statsmodels.tsa.statespace.cfa_simulation_smoother")
        smoother = cfa.CFASimulationSmoother(of_statsmodels(p).ssm)
        smoother.simulate()

        def simulate():
            smoother.simulate(update_posterior=False)
            return smoother.simulated_state.T

        return one_by_one(simulate, draws)

    def of_kfs():
        smoother = of_statsmodels(p).simulation_smoother()

        def simulate():
            smoother.simulate()
            return smoother.simulated_state.T

        return one_by_one(simulate, draws)

    return {
        "trifold": lambda: trifold.models.sample(**p, generator=np.random.default_rng(1), draws=draws),
        "CFA": of_cfa,
        "KFS": of_kfs,
    }


def off_from_cfa(p):
    """How far our mean plus L^-T z is from that of statsmodels, from the same z: the sequential schedule has the same order."""
    import trifold

    cfa = importlib.import_module("statsmodels.tsa.statespace.cfa_simulation_smoother")
    smoother = cfa.CFASimulationSmoother(of_statsmodels(p).ssm)
    horizon, n = len(p["ys"]), len(p["F"])
    z = np.random.default_rng(2).standard_normal((horizon, n))
    smoother.simulate(z.T)
    D, E = trifold.models.precision(p["F"], p["Q"], p["P0"], horizon)
    D = D + p["H"].T @ np.linalg.solve(p["R"], p["H"])
    mine = smoother.posterior_mean.T + trifold.factor(D, E, schedule="sequential").backward(z)
    return measure.close("draws", mine, smoother.simulated_state.T, TOLERANCE)


def add_smoothing(table, p, repeats):
    """Likelihoods and smoothed states: how long they take, and how far apart they are."""
    import trifold

    theirs = of_statsmodels(p).ssm
    calls = {
        "blocks": lambda: trifold.models.normal_equations(**p),
        "likelihood": lambda: trifold.models.log_likelihood(**p),
        "statsmodels' likelihood": theirs.loglike,
        "smoother": lambda: trifold.models.kalman(**p),
        "statsmodels' smoother": theirs.smooth,
    }
    seconds, found = {}, {}
    for name, call in calls.items():
        seconds[name], found[name] = measure.median(lambda: call(), lambda i: (), lambda _: None, repeats)  # noqa: B023
    off = [
        measure.close("likelihood", found["likelihood"], found["statsmodels' likelihood"], TOLERANCE),
        measure.close("means", found["smoother"].mean.T, found["statsmodels' smoother"].smoothed_state, TOLERANCE),
    ]
    table.add(
        T_x_n="{} x {}".format(len(p["ys"]), len(p["F"])), off=max(off), **{name.replace(" ", "_") + "_s": s for name, s in seconds.items()}
    )


def check_moments(what, draws, p):
    import trifold

    smoothed = trifold.models.kalman(**p)
    scale, count = np.sqrt(np.max(smoothed.variance)), draws.shape[-1]
    if not np.abs(draws.mean(-1) - smoothed.mean).max() < 6 * scale / np.sqrt(count):
        raise AssertionError(f"{what}: the mean of {count} draws is not the smoother's")


def main(arguments=None):
    options = measure.parser(__doc__).parse_args(arguments)
    repeats = options.repeats or (1 if options.small else 3)
    sizes = SMALL if options.small else SIZES
    columns = ["T x n", "blocks", "likelihood", "statsmodels' likelihood", "smoother", "statsmodels' smoother", "off"]
    smoothing = measure.Table("Smoothing, float64", columns)
    for horizon, n, _ in sizes:
        add_smoothing(smoothing, model_of(horizon, n, 0), 10 * repeats)
    table = measure.Table("Draws, float64", ["T x n x draws", "program", "seconds", "over trifold", "CFA off"])
    for horizon, n, draws in sizes:
        p = model_of(horizon, n, 0)
        off, ours = off_from_cfa(p), None
        for name, call in programs(p, draws).items():
            seconds, drawn = measure.median(lambda: call(), lambda i: (), lambda _: None, repeats, warm=1)  # noqa: B023
            check_moments(name, drawn, p)
            ours = ours or seconds
            table.add(T_x_n_x_draws=f"{horizon} x {n} x {draws}", program=name, seconds_s=seconds, over_trifold=seconds / ours, CFA_off=off)
    measure.write(options.json, options, [smoothing, table])
    return smoothing.rows, table.rows


if __name__ == "__main__":
    main()
