"""What every Python peer computes from plain.csv: gamma, penalty and the range of jobs."""

import numpy as np


def read(path):
    names = np.loadtxt(path, delimiter=",", skiprows=1, usecols=0, dtype=str)
    nm, mavg, mmax, s1avg, s1max, savg, smax, nr, ravg, rmax, cm, cr, low, high, deadline, penalty = np.loadtxt(
        path, delimiter=",", skiprows=1, usecols=range(1, 17), unpack=True
    )
    a = nm * mavg - mmax
    b = nr * (savg + ravg) - smax - rmax
    c = (s1avg - savg + s1max + 2 * (smax + mmax + rmax)) / 2
    root = np.sqrt(a * b)
    gamma = (a / cm + b / cr + 2 * root / np.sqrt(cm * cr)) / (deadline - c)
    return names, gamma, penalty, low, high
