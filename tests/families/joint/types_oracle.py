"""Joint specs with VM types, drawn at random, and their least cost by enumeration; no code of mrdsl is used.

Every class may have any whole jobs at once in each lane (a VM type, firm or on spot), on the fewest VMs, and idle firm
ones where its part on spot asks for them. Every service may have any VMs of each type. All combinations are priced.
"""

from __future__ import annotations

import itertools
import math
from random import Random
from typing import Any

EPS = 1e-9


def ceil(x: float) -> int:
    return math.ceil(x - 1e-7)


def draw(r: Random) -> dict[str, Any]:
    """Draw a small spec."""
    types = []
    for n in range(r.randint(1, 3)):
        t = {
            "name": f"t{n}",
            "price": r.choice([0.1, 0.2, 0.35, 0.5, 0.05]),
            "spot": None,
            "avail": None,
            "cores": r.choice([2, 4, 8]),
            "memory": r.choice([8, 16, 32]),
        }
        if r.random() < 0.4:
            t["spot"] = (round(t["price"] * r.uniform(0.2, 0.8), 4), r.choice([0.0, 0.1, 0.5, 2.0]))
        if r.random() < 0.5:
            t["avail"] = r.randint(0, 6)
        types.append(t)
    quotas = []
    if r.random() < 0.4:
        quotas.append(
            {
                "name": "q1",
                "cores": r.randint(4, 40),
                "types": r.sample([t["name"] for t in types], r.randint(1, len(types))) if r.random() < 0.6 else [],
                "spot": r.random() < 0.3,
            }
        )
    size = r.randint(3, 9) if r.random() < 0.5 else None
    classes = []
    for n in range(r.randint(0 if len(types) > 1 else 1, 2)):
        M, R = r.randint(1, 14), r.choice([0, 0, 1, 2, 5, 8])
        avg = r.choice([20.0, 35.0, 60.0])
        mx = avg * r.choice([1.0, 1.2, 1.7])
        c = {"name": f"c{n}", "M": M, "avg": avg, "max": mx, "R": R}
        if R:
            c.update(
                f1=r.choice([5.0, 12.0]),
                sh=r.choice([4.0, 9.0]),
                shmax=r.choice([9.0, 15.0]),
                ravg=r.choice([10.0, 30.0]),
                rmax=r.choice([30.0, 45.0]),
            )
        c["slots"] = (r.randint(1, 4), r.randint(1, 4))
        c["container"] = (
            (r.choice([1, 1.5, 2]), r.choice([2, 3, 6]), r.choice([1, 2]), r.choice([2, 5]))
            if r.random() < 0.3
            else None
        )
        c["on"] = {}
        for t in types:
            if r.random() < 0.5:
                c["on"][t["name"]] = {
                    "speed": r.choice([0.8, 1.0, 1.3, 2.0]),
                    "slots": (r.randint(1, 5), r.randint(1, 5)) if r.random() < 0.5 else None,
                }
        c["types"] = None
        if r.random() < 0.15:
            c["types"] = "one"
        elif r.random() < 0.2:
            c["types"] = r.sample([t["name"] for t in types], r.randint(1, len(types)))
        c["spot"] = r.choice([None, None, 0.0, 0.3, 0.5, 0.75, 1.0])
        c["deadline"] = r.choice([200.0, 300.0, 450.0, 900.0, 1700.0, 4000.0])
        c["jobs"] = (lambda h: (r.choice([0, 0, h, h / 2]), h))(r.choice([1, 2, 3, 4, 6, 2.5]))
        c["penalty"] = r.choice([0.02, 0.1, 0.3, 1.0, 3.0])
        c["guarantee"] = r.choice([None, "average", "upper", "lower"])
        classes.append(c)
    services = []
    for n in range(r.randint(0 if classes else 1, 1 if classes else 2)):
        mu = r.choice([5.0, 10.0, 15.0])
        delay = r.choice([0, 0.1])
        resp = delay + r.choice([0.3, 0.5, 1.0, 1.4])
        h = r.choice([4.0, 12.0, 20.0, 31.0])
        services.append(
            {
                "name": f"s{n}",
                "mu": mu,
                "delay": delay,
                "resp": round(resp, 3),
                "rate": (r.choice([0, h, h * 0.7]), h),
                "penalty": r.choice([1e-6, 5e-6, 2e-5, 1e-4]),
                "on": {t["name"]: r.choice([0.5, 1.5, 2.0]) for t in types if r.random() < 0.5},
                "types": r.sample([t["name"] for t in types], r.randint(1, len(types))) if r.random() < 0.25 else None,
            }
        )
    reuse = r.choice(["any", "any", "paper"])
    for c in classes:
        c["reuse"] = reuse
    return {"types": types, "quotas": quotas, "size": size, "classes": classes, "services": services}


def with_contracts(s: dict[str, Any], r: Random) -> dict[str, Any]:
    """Return a drawn spec of one or two periods whose types have fees and contracts."""
    floor = r.choice([0.0, 0.3, 1.0])
    for t in s["types"]:
        t["fee"] = r.choice([0.0, 0.02, 0.25])
        t["fee_is_share"] = t["fee"] == 0.25
        part = r.choice([0.0, 0.3, 0.6, 0.9, 1.2])
        t["contract"] = (round(part * t["price"], 4), r.randint(0, 3), r.random() < 0.3) if r.random() < 0.7 else None
    s["periods"] = []
    for _ in range(r.choice([1, 2, 2])):
        part = r.choice([0.0, 0.4, 1.0])
        units = [(c["name"], part * c["jobs"][1]) for c in s["classes"]]
        s["periods"].append(dict(units + [(v["name"], part * v["rate"][1]) for v in s["services"]]))
    s["floor"] = floor
    return s


def table(s: dict[str, Any]) -> str:
    """Write the demand of a spec of several periods."""
    names = list(s["periods"][0])
    return "\n".join([",".join(names), *(",".join(repr(row[n]) for n in names) for row in s["periods"]), ""])


def fee_of(t: dict[str, Any]) -> float:
    return t.get("fee", 0.0) * (t["price"] if t.get("fee_is_share") else 1.0)


def least(s: dict[str, Any]) -> float | None:
    """The least cost of all periods, over all numbers of VMs under contract; None if some period has no plan."""
    terms = [t["contract"] or (0.0, 0, True) for t in s["types"]]
    best = math.inf
    for counts in itertools.product(*([k] if prepaid else range(k + 1) for _, k, prepaid in terms)):
        paid = sum(0.0 if term[2] else n * term[0] for n, term in zip(counts, terms, strict=True))
        total = 0.0
        for row in s["periods"]:
            one = {
                **s,
                "classes": [{**c, "jobs": (s["floor"] * row[c["name"]], row[c["name"]])} for c in s["classes"]],
                "services": [{**v, "rate": (s["floor"] * row[v["name"]], row[v["name"]])} for v in s["services"]],
            }
            cost = brute(one, counts)
            if cost is None:
                return None
            total += cost + paid
        best = min(best, total)
    return best


def text(s: dict[str, Any]) -> str:
    """Write a spec."""
    size = f", size = {s['size']}" if s["size"] else ""
    reuse = ", reuse = paper" if s["classes"] and s["classes"][0]["reuse"] == "paper" else ""
    o = ['problem joint "drawn", estimates = paper', f"cluster {{ period = 1 h{size}{reuse} }}"]
    for t in s["types"]:
        o.append(
            f"vm {t['name']} {{ on_demand {{ price = {t['price']} USD/h }}\n"
            f" cores = {t['cores']}\n memory = {t['memory']} GiB"
            + (f"\n fee = {t['fee'] * 100}%" if t.get("fee_is_share") else f"\n fee = {t.get('fee', 0.0)} USD/h")
            + _contract(t)
            + ("" if t["avail"] is None else f"\n available = {t['avail']}")
            + (f"\n spot {{ price = {t['spot'][0]} USD/h, interruptions = {t['spot'][1]}/h }}" if t["spot"] else "")
            + " }"
        )
    for q in s["quotas"]:
        o.append(
            f"quota {q['name']} {{ cores = {q['cores']}"
            + (f", types = [{', '.join(q['types'])}]" if q["types"] else "")
            + (", spot = yes" if q["spot"] else "")
            + " }"
        )
    for c in s["classes"]:
        b = [f"map {{ tasks = {c['M']}, avg = {c['avg']} s, max = {c['max']} s }}"]
        if c["R"]:
            b.append(f"shuffle {{ first_max = {c['f1']} s, avg = {c['sh']} s, max = {c['shmax']} s }}")
            b.append(f"reduce {{ tasks = {c['R']}, avg = {c['ravg']} s, max = {c['rmax']} s }}")
        if c["container"]:
            k = c["container"]
            b.append(
                f"container {{ map {{ cores = {k[0]}, memory = {k[1]} GiB }}\n"
                f" reduce {{ cores = {k[2]}, memory = {k[3]} GiB }} }}"
            )
        else:
            b.append(f"slots {{ map = {c['slots'][0]}, reduce = {c['slots'][1]} }}")
        for n, v in c["on"].items():
            b.append(
                f"on {n} {{ speed = {v['speed']}"
                + (f", slots {{ map = {v['slots'][0]}, reduce = {v['slots'][1]} }}" if v["slots"] else "")
                + " }"
            )
        if c["types"] == "one":
            b.append("types = one")
        elif c["types"]:
            b.append(f"types = [{', '.join(c['types'])}]")
        if c["spot"] is not None:
            b.append(f"spot = {c['spot'] * 100} %")
        if c["guarantee"]:
            b.append(f"guarantee = {c['guarantee']}")
        b += [
            f"jobs = {c['jobs'][0]} .. {c['jobs'][1]}",
            f"deadline = {c['deadline']} s",
            f"penalty = {c['penalty']} USD",
        ]
        o.append(f"class {c['name']} {{\n  " + "\n  ".join(b) + "\n}")
    for v in s["services"]:
        b = [
            f"rate = {v['rate'][0]}/s .. {v['rate'][1]}/s",
            f"service_rate = {v['mu']}/s",
            f"delay = {v['delay']} s",
            f"response = {v['resp']} s",
            f"penalty = {v['penalty']:.7f} USD",
        ]
        b += [f"on {n} {{ speed = {x} }}" for n, x in v["on"].items()]
        if v["types"]:
            b.append(f"types = [{', '.join(v['types'])}]")
        o.append(f"service {v['name']} {{\n  " + "\n  ".join(b) + "\n}")
    if s.get("periods"):
        o.append(f'demand {{ periods = {len(s["periods"])}, from = "day.csv", floor = {s["floor"]} }}')
    return "\n".join(o) + "\nminimize cost\n"


def _contract(t: dict[str, Any]) -> str:
    if not t.get("contract"):
        return ""
    price, count, prepaid = t["contract"]
    return f"\n reserved {{ price = {price} USD/h, available = {count}" + ", prepaid = yes" * prepaid + " }"


class AmbiguousError(Exception):
    """Several pairs of slots take the fewest VMs, and their losses differ."""


def coefficients(c: dict[str, Any], speed: float) -> list[float]:
    """A, B and C of one job by its guarantee."""
    a, mx = c["avg"] / speed, c["max"] / speed
    A = c["M"] * a
    up = A - 2 * mx if A - 2 * mx > 0 else A
    lo, hi = [A, 0.0, 0.0], [up, 0.0, 2 * mx]
    if c["R"]:
        both, bmax = c["sh"] + c["ravg"] / speed, c["shmax"] + c["rmax"] / speed
        B = c["R"] * both
        lo[1], lo[2] = B, c["f1"] - c["sh"]
        hi[1] = B - 2 * bmax if B - 2 * bmax > 0 else B
        hi[2] = 2 * mx + c["f1"] + 2 * bmax
    g = c["guarantee"] or "average"
    return lo if g == "lower" else hi if g == "upper" else [(x + y) / 2 for x, y in zip(lo, hi, strict=True)]


def pairs(
    A: float, B: float, C: float, D: float, M: int, R: int, cm: int, cr: int
) -> tuple[float, list[tuple[int, int]]]:
    """The fewest VMs of one job, and the slots that take them."""
    best, found = math.inf, []
    for m in range(1, M + 1):
        for r in range(1, R + 1) if R else [0]:
            if A / m + (B / r if r else 0) + C <= D * (1 + 1e-10):
                v = m / cm + (r / cr if r else 0)
                if v < best - EPS:
                    best, found = v, [(m, r)]
                elif v <= best + EPS:
                    found.append((m, r))
    return best, found


def age(avg: float, mx: float) -> float:
    if avg <= 0:
        return 0.0
    b = max(mx - avg, 0)
    return (avg * avg + min(b * b / 3, avg * b)) / (2 * avg)


def hosted(c: dict[str, Any], t: dict[str, Any]) -> tuple[int, int]:
    own = c["on"].get(t["name"], {})
    if own.get("slots"):
        return own["slots"]
    if c["container"]:
        k = c["container"]
        return (
            math.floor(min(t["cores"] / k[0], t["memory"] / k[1]) + EPS),
            math.floor(min(t["cores"] / k[2], t["memory"] / k[3]) + EPS),
        )
    return c["slots"]


def gammas(s: dict[str, Any], c: dict[str, Any], deadline: float) -> dict[tuple[int, int], float]:
    """VMs of one job in each lane."""
    out = {}
    for n, t in enumerate(s["types"]):
        if isinstance(c["types"], list) and t["name"] not in c["types"]:
            continue
        speed = c["on"].get(t["name"], {}).get("speed", 1.0)
        cm, cr = hosted(c, t)
        if cm < 1 or (c["R"] and cr < 1):
            continue
        A, B, C = coefficients(c, speed)
        g, fewest = pairs(A, B, C, deadline, c["M"], c["R"], cm, cr)
        if g < math.inf:
            out[n, 0] = g
        if t["spot"] and c["spot"] != 0.0 and g < math.inf:
            rate = t["spot"][1] / 3600
            seen = set()
            for m, r in fewest:
                Cp = max(C, 0.0)
                TM, TR = A / m, (B / r if r else 0.0)
                if B > 0:
                    TR += Cp
                else:
                    TM += Cp
                am = age(c["avg"] / speed, c["max"] / speed)
                ar = 0.0
                if c["R"]:

                    def var(a: float, x: float) -> float:
                        b = max(x - a, 0)
                        return min(b * b / 3, a * b)

                    both = c["sh"] + c["ravg"] / speed
                    ar = (both**2 + var(c["sh"], c["shmax"]) + var(c["ravg"] / speed, c["rmax"] / speed)) / (2 * both)
                lm = rate * (am + (TM / 2 + TR if c["R"] else 0.0))
                lr = rate * ar
                if lm > 0.5 or lr > 0.5:
                    seen.add(math.inf)
                    continue
                km, kr = 1 - lm, 1 - lr
                gs, _ = pairs(A / km, B / kr, C, deadline, ceil(c["M"] / km), ceil(c["R"] / kr), cm, cr)
                seen.add(round(gs, 9))
            if len(seen) > 1:
                raise AmbiguousError
            gs = seen.pop()
            if gs < math.inf:
                out[n, 1] = gs
    return out


def rounds(D: float) -> float:
    return math.floor(3600 / D + 1e-9) if D <= 3600 else 1 / math.ceil(D / 3600 - 1e-9)


def choices(s: dict[str, Any], c: dict[str, Any]) -> dict[tuple[int, int], dict[int, float]]:
    """The most jobs on each useful number of VMs in each lane, over all numbers of rounds that keep the deadline."""
    first, jobs = rounds(c["deadline"]), c["jobs"][1]
    counts = [*(1 / n for n in range(9, 1, -1)), *range(1, ceil(jobs) + 1)] if c["reuse"] == "any" else []
    found: dict[tuple[int, int], dict[int, float]] = {}
    for xi in [first, *(x for x in counts if x > first + EPS)]:
        for lane, each in gammas(s, c, c["deadline"] if xi == first else 3600 / xi).items():
            best = found.setdefault(lane, {0: 0.0})
            for k in range(1, ceil(jobs / xi) + 1):
                v = ceil(each * k)
                best[v] = max(best.get(v, 0.0), min(jobs, xi * k))
    return {
        lane: {v: n for v, n in best.items() if all(other < n for w, other in best.items() if w < v)}
        for lane, best in found.items()
    }


def brute(s: dict[str, Any], under_contract: tuple[int, ...] = ()) -> float | None:
    """The least cost, None if no plan meets the least demand; VMs under contract cost their fee."""
    lanes = [(n, w) for n, t in enumerate(s["types"]) for w in ((0, 1) if t["spot"] else (0,))]
    price = {
        (n, w): (s["types"][n]["spot"][0] if w else s["types"][n]["price"]) + fee_of(s["types"][n]) for n, w in lanes
    }

    def fits(v: tuple[int, ...]) -> bool:
        if s["size"] and sum(v) > s["size"]:
            return False
        for n, t in enumerate(s["types"]):
            taken = sum(x for x, lane in zip(v, lanes, strict=True) if lane[0] == n)
            if t["avail"] is not None and taken > t["avail"]:
                return False
        for q in s["quotas"]:
            if (
                sum(
                    x * s["types"][lane[0]]["cores"]
                    for x, lane in zip(v, lanes, strict=True)
                    if lane[1] == q["spot"] and (not q["types"] or s["types"][lane[0]]["name"] in q["types"])
                )
                > q["cores"] + EPS
            ):
                return False
        return True

    states = {(0,) * len(lanes): 0.0}

    def merge(options: dict[tuple[int, ...], float]) -> None:
        nonlocal states
        new = {}
        for v, cost in states.items():
            for w, more in options.items():
                u = tuple(a + b for a, b in zip(v, w, strict=True))
                if u in new and new[u] <= cost + more:
                    continue
                if fits(u):
                    new[u] = cost + more
        states = new

    for c in s["classes"]:
        each = choices(s, c)
        mine = [i for i, lane in enumerate(lanes) if lane in each]
        options = {}
        share = 1.0 if c["spot"] is None else c["spot"]
        for taken in itertools.product(*(each[lanes[i]].items() for i in mine)):
            used = {lanes[i] for i, (v, _) in zip(mine, taken, strict=True) if v}
            if c["types"] == "one" and len({lane[0] for lane in used}) > 1:
                continue
            jobs = min(c["jobs"][1], sum(n for _, n in taken))
            if jobs < c["jobs"][0] - EPS:
                continue
            base = [0] * len(lanes)
            for i, (v, _) in zip(mine, taken, strict=True):
                base[i] = v
            spotted = sum(x for x, lane in zip(base, lanes, strict=True) if lane[1])
            total = sum(base)
            variants = [base]
            if spotted > share * total + EPS:
                # idle firm VMs until the share is kept
                need = 0
                while spotted > share * (total + need) + EPS:
                    need += 1
                    if need > 60:
                        break
                if need > 60:
                    continue
                firm = [i for i in mine if not lanes[i][1]]
                variants = []
                for extra in itertools.product(*(range(need + 1) for _ in firm)):
                    if sum(extra) != need:
                        continue
                    b = list(base)
                    for i, e in zip(firm, extra, strict=True):
                        b[i] += e
                    variants.append(b)
            for b in variants:
                b = tuple(b)
                cost = sum(x * price[lane] for x, lane in zip(b, lanes, strict=True)) + c["penalty"] * (
                    c["jobs"][1] - jobs
                )
                if fits(b) and cost < options.get(b, math.inf):
                    options[b] = cost
        merge(options)
    for v in s["services"]:
        cap = {}
        for i, lane in enumerate(lanes):
            t = s["types"][lane[0]]
            if lane[1] or (v["types"] and t["name"] not in v["types"]):
                continue
            x = v["mu"] * v["on"].get(t["name"], 1.0) - 1 / (v["resp"] - v["delay"])
            if x > 1e-9:
                cap[i] = x
        options = {}
        mine = list(cap)
        for n in itertools.product(*(range(ceil(v["rate"][1] / cap[i]) + 1) for i in mine)):
            rate = min(v["rate"][1], sum(cap[i] * k for i, k in zip(mine, n, strict=True)))
            if rate < v["rate"][0] - 1e-9:
                continue
            b = [0] * len(lanes)
            for i, k in zip(mine, n, strict=True):
                b[i] = k
            b = tuple(b)
            cost = sum(x * price[lane] for x, lane in zip(b, lanes, strict=True)) + v["penalty"] * 3600 * (
                v["rate"][1] - rate
            )
            if fits(b) and cost < options.get(b, math.inf):
                options[b] = cost
        merge(options)

    def saved(v: tuple[int, ...]) -> float:
        firm = {n: x for x, (n, spot) in zip(v, lanes, strict=True) if not spot}
        return sum(min(k, firm[n]) * s["types"][n]["price"] for n, k in enumerate(under_contract))

    return min((cost - saved(v) for v, cost in states.items()), default=None)
