"""Times of two builds: ratios with intervals, and which rows and areas are slower or faster.

A round measures rows in a process of each build, one after the other. A series holds log(NEW / OLD) by round.
tests/scripts/compare_builds_test.py simulates these rules: 60 rows, 1 % noise per process, 3 % of the times 20 % longer.
There were 1000 comparisons each, with 3 and 6 rounds and up to 12 that confirm. All equal builds were judged "same". A row
5 % slower was found in 97.0 % (3 rounds) and 98.6 % (6), without the longer times in 99.5 % and 99.9 %. Then every tenth
row had 5 % noise, and all rows of a process shared 0.5 %: 99.4 % and 99.5 % of equal builds were "same".
Means instead of medians lose such a row in 40 % of the comparisons, since one long time hides it. Faster rows need
confirmation as much as slower ones. Suspicion is easy, since the confirmation decides.
"""
import math
from statistics import fmean, median
from typing import NamedTuple

ROW_LIMIT = math.log(1.02)
AREA_LIMIT = math.log(1.005)
# Slower than this without confirmation is worse: slow rows leave no time for one.
GROSS_LIMIT = math.log(1.25)
SIGMAS = 3.0
SUSPICION = 0.5  # standard errors
# The standard error of a median of few values over that of their mean.
MEDIAN_FACTOR = 1.1
# Standard deviation of a single round, which nothing tells.
SINGLE_SIGMA = 0.05
MOST_FRESH_ROUNDS = 12
# Rows of an area that tell its noise.
LEAST_MEMBERS = 4
# After so many fresh rounds a suspect that they do not show is let go.
FRESH_TO_ACQUIT = 4


class Estimate(NamedTuple):
    """Logarithms."""
    centre: float
    half: float  # of the interval
    rounds: int

    def beyond(self, limit):
        """1 if the interval lies above the limit, -1 if below its negative, else 0."""
        return (self.centre - self.half > limit) - (self.centre + self.half < -limit)


class Judged(NamedTuple):
    word: str  # worse, better, same; slower or faster where no confirmation was made
    estimate: Estimate
    fresh: Estimate | None
    suspect: int  # 1 if it looked slower, -1 if faster, and fresh rounds can still tell


def spread(values):
    """Standard deviation about the median; of four values and more, without the quarter that is farthest from it.

    1.5 makes up for that quarter where values are normal.
    """
    middle = median(values)
    distances = sorted(abs(value - middle) for value in values)
    dropped = len(values) // 4
    kept = distances[:len(values) - dropped]
    sigma = math.sqrt(sum(each * each for each in kept) / (len(kept) - 1))
    return 1.5 * sigma if dropped else sigma


def noise_of(rows):
    """The median spread of the series with two rounds or more."""
    spreads = [spread(list(logs.values())) for logs in rows if len(logs) > 1]
    return median(spreads) if spreads else SINGLE_SIGMA


def noise_by_area(series, area_of):
    """Noise of every area: products repeat to 0.3 % where solves repeat to 5 %. Small areas share one."""
    members = {area: [logs for row, logs in series.items() if area_of[row] == area and len(logs) > 1]
               for area in dict.fromkeys(area_of[row] for row in series)}
    small = [logs for rows in members.values() if len(rows) < LEAST_MEMBERS for logs in rows]
    rest = noise_of(small if len(small) >= LEAST_MEMBERS else series.values())
    return {area: noise_of(rows) if len(rows) >= LEAST_MEMBERS else rest for area, rows in members.items()}


def standard_error(values, noise, own):
    count = len(values)
    sigma = max(noise, spread(values) if own and count > 1 else 0.0, SINGLE_SIGMA / count if count < 3 else 0.0)
    return MEDIAN_FACTOR * sigma / math.sqrt(count)


def row_estimate(logs, noise, sigmas=SIGMAS, own=True):
    """own: whether the spread of the row counts where it is larger than the noise."""
    values = list(logs.values())
    return Estimate(median(values), sigmas * standard_error(values, noise, own), len(values))


def area_estimate(rows, noise, sigmas=SIGMAS, own=True):
    """The geometric mean. What all rows of a round share widens the interval, too."""
    estimates = [row_estimate(logs, noise, sigmas, own) for logs in rows]
    half = math.sqrt(sum(each.half ** 2 for each in estimates)) / len(rows)
    repeated = [(logs, each.centre) for logs, each in zip(rows, estimates) if len(logs) > 1]
    shifts = [[logs[number] - centre for logs, centre in repeated if number in logs]
              for number in sorted(set().union(*(logs for logs, _ in repeated)))]
    shared = [fmean(each) for each in shifts if 2 * len(each) > len(repeated)]
    if len(shared) > 1:
        half = max(half, sigmas * spread(shared) / math.sqrt(len(shared)))
    return Estimate(fmean(each.centre for each in estimates), half, max(each.rounds for each in estimates))


def _judged(estimate_of, rows, limit, noise, fresh_from):
    """estimate_of: row_estimate() or area_estimate(); rows: a series per row."""
    def of(is_wanted, **options):
        chosen = [{number: value for number, value in logs.items() if is_wanted(number)} for logs in rows]
        if not all(chosen):
            return None
        return estimate_of(chosen, noise, **options)

    everything = of(lambda number: True)
    early = of(lambda number: fresh_from is None or number < fresh_from, sigmas=SUSPICION, own=False)
    fresh = None if fresh_from is None else of(lambda number: number >= fresh_from)
    if early is None:  # a row that was lost before
        return Judged("same", everything, fresh, 0)
    sign = early.beyond(limit)
    is_beyond = sign != 0 and everything.beyond(limit) == sign
    if not is_beyond:
        word = "same"
    elif fresh is None:
        word = "worse" if everything.beyond(GROSS_LIMIT) == 1 else "slower" if sign > 0 else "faster"
    else:
        word = "same" if sign * fresh.centre <= limit else "worse" if sign > 0 else "better"
    is_acquitted = fresh is not None and fresh.rounds >= FRESH_TO_ACQUIT and sign * fresh.centre <= limit
    is_open = sign != 0 and not is_acquitted and (fresh is None or fresh.rounds < MOST_FRESH_ROUNDS)
    return Judged(word, everything, fresh, sign if is_open else 0)


def judge(series, area_of, fresh_from=None):
    """Rows and areas by name, and the noise of every area.

    series: of every row with times, at least one round each; area_of: by row; fresh_from: the first round that confirms.
    """
    early = {row: {number: value for number, value in logs.items() if fresh_from is None or number < fresh_from}
             for row, logs in series.items()}
    noise = noise_by_area(early, area_of)
    rows = {row: _judged(lambda chosen, *rest, **more: row_estimate(chosen[0], *rest, **more), [logs], ROW_LIMIT,
                         noise[area_of[row]], fresh_from) for row, logs in series.items()}
    areas = {}
    for area in dict.fromkeys(area_of[row] for row in series):
        members = [logs for row, logs in series.items() if area_of[row] == area and early[row]]
        if not members:
            continue
        judged = _judged(area_estimate, members, AREA_LIMIT, noise[area], fresh_from)
        # One row is judged as a row.
        areas[area] = judged if len(members) > 1 else judged._replace(word="same", suspect=0)
    return rows, areas, noise
