"""Weekly sales of shops that opened in different years: a level for each week, and a season for each shop, in one call.

y = level + season + noise, where the level is a random walk and the season two effects, of cos and sin of the year. Levels are a chain, and
effects its border, which all weeks share. Shops are a batch whose members have lengths of their own.
"""

import argparse
from pathlib import Path

import numpy as np
import trifold

YEAR, NOISE, STEP, PRIOR = 52, 1.0, 0.15, 0.01  # weeks; standard deviations of a reading and of a step; precision of an effect before


def sales(shops=60, longest=260, seed=1):
    """(y, lengths, effects): (shops, longest) with NaN beyond a shop's weeks, which are counted from its first."""
    rng = np.random.default_rng(seed)
    lengths = np.sort(rng.integers(20, longest + 1, shops))[::-1]
    effects = rng.normal([3, -1], 0.7, (shops, 2))
    level = 10 + np.cumsum(rng.normal(0, STEP, (shops, longest)), 1)
    y = level + effects @ seasons(longest) + rng.normal(0, NOISE, (shops, longest))
    y[np.arange(longest) >= lengths[:, None]] = np.nan
    return y, lengths, effects


def seasons(weeks):
    """(2, weeks)"""
    angle = 2 * np.pi * np.arange(weeks) / YEAR
    return np.stack([np.cos(angle), np.sin(angle)])


def smooth(y, lengths):
    """Means and standard deviations of levels, (shops, weeks), and of effects, (shops, 2)."""
    shops, N = y.shape
    D = np.full((shops, N, 1, 1), 1 / NOISE**2 + 2 / STEP**2)
    D[:, 0, 0, 0] -= 1 / STEP**2  # an end has one neighbour
    D[np.arange(shops), lengths - 1, 0, 0] -= 1 / STEP**2
    E = np.full((shops, N - 1, 1, 1), -1 / STEP**2)
    there = np.where(np.isnan(y), 0, seasons(N)[:, None]) / NOISE**2  # (2, shops, N)
    F = np.moveaxis(there, 0, -1)[..., None]
    C = PRIOR * np.eye(2) + np.einsum("jst,kt->sjk", there, seasons(N))
    b = (y[..., None] / NOISE**2, np.einsum("jst,st->sj", there, np.nan_to_num(y)))
    found = trifold.marginals(D, E, b, border=(F, C), lengths=lengths)
    (level, effect), corner = found.x, found.corner
    return level[..., 0], np.sqrt(found.diagonal[..., 0, 0]), effect, np.sqrt(np.einsum("sjj->sj", corner))


def draw(y, lengths, found, path):
    import matplotlib.pyplot as plt

    level, deviation, effect, spread = found
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
    for color, shop, lift in zip(("tab:blue", "tab:orange", "tab:green"), (0, len(y) // 2, len(y) - 1), (24, 12, 0)):
        week = np.arange(lengths[shop])
        left.plot(week, y[shop, week] + lift, ".", color=color, markersize=3, alpha=0.5)
        left.plot(week, level[shop, week] + effect[shop] @ seasons(len(week)) + lift, color=color, label=f"{len(week)} weeks")
        band = 2 * deviation[shop, week]
        left.fill_between(week, level[shop, week] - band + lift, level[shop, week] + band + lift, color=color, alpha=0.25)
    left.set(xlabel="week", ylabel="sales, one above the other")
    left.legend(loc="lower right")
    right.errorbar(lengths, effect[:, 0], 2 * spread[:, 0], fmt="o", markersize=3, linewidth=1)
    right.set(xlabel="weeks of a shop", ylabel="effect of the cosine, with two deviations")
    figure.savefig(path, dpi=80)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", default=".", help="folder for the picture")
    y, lengths, effects = sales()
    found = smooth(y, lengths)
    draw(y, lengths, found, Path(parser.parse_args(arguments).output) / "panel.png")
    error = (found[2] - effects) / found[3]
    print(f"{len(y)} shops of {lengths.min()} to {lengths.max()} weeks; {(abs(error) < 2).mean():.0%} of effects within two deviations")
    return y, lengths, effects, found


if __name__ == "__main__":
    main()
