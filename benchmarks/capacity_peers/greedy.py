"""A numpy greedy: read, sort by penalty per VM, fill, print the cost and its LP bound."""

import sys

import numpy as np
from coefficients import read

path, delta, rho, rbar = sys.argv[1], *map(float, sys.argv[2:5])
names, gamma, penalty, low, high = read(path)
order = np.argsort(-penalty / gamma)
jobs = np.where(penalty > delta * gamma, high, low)
used = float(gamma @ jobs)
for i in order[(penalty <= delta * gamma)[order] & (penalty > rho * gamma)[order]]:
    if used >= rbar:
        break
    more = min(high[i] - low[i], (rbar - used) / gamma[i])
    jobs[i] += more
    used += more * gamma[i]


def cost(h, vms):
    return rho * min(vms, rbar) + delta * max(vms - rbar, 0.0) + float(penalty @ (high - h))


whole = np.floor(jobs)
print("bound", cost(jobs, used), "cost", cost(whole, np.ceil(float(gamma @ whole))))
for name, h in zip(names[:20], whole[:20], strict=True):
    print(name, int(h))
