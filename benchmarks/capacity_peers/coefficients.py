"""What every Python peer computes from plain.csv: gamma, penalty and the range of jobs.

A job has at least one slot of each kind and no more than it has tasks, as in mrdsl's model.
"""

import numpy as np


def read(path):
    names = np.loadtxt(path, delimiter=",", skiprows=1, usecols=0, dtype=str)
    nm, mavg, mmax, s1avg, s1max, savg, smax, nr, ravg, rmax, cm, cr, low, high, deadline, penalty = np.loadtxt(
        path, delimiter=",", skiprows=1, usecols=range(1, 17), unpack=True
    )
    a = nm * mavg - mmax
    b = nr * (savg + ravg) - smax - rmax
    c = (s1avg - savg + s1max + 2 * (smax + mmax + rmax)) / 2
    left = deadline - c
    with np.errstate(divide="ignore", invalid="ignore"):
        beside_one = np.where(left > b, a / (left - b), np.inf)  # map slots that do beside one reduce slot
        maps = np.minimum(np.minimum((np.sqrt(a * b * cm / cr) + a) / left, beside_one), nm)
        maps = np.maximum(np.maximum(maps, a / (left - b / nr)), 1.0)
        reduces = np.where(maps >= beside_one, 1.0, b / (left - a / maps))
    return names, maps / cm + reduces / cr, penalty, low, high
