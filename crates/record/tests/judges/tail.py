#!/usr/bin/env python3
"""Fits tails by pyextremes, for the fixture that the unit tests of crates/record/src/tail compare theirs with.

Usage: tail.py > tail-pyextremes.json        needs `pip install pyextremes`
"""

import json
import math
import random
import sys
import warnings

import numpy
import pandas
import pyextremes
import scipy

warnings.simplefilter("ignore")


def excesses(shape, count):
    """Excesses over 0 of scale 1000, whole numbers as a clock has them."""
    of = random.Random(int(1000 * shape) + count)
    hazards = [of.expovariate(1.0) for _ in range(count)]
    return sorted(round(1000 * (math.expm1(shape * h) / shape if shape else h), 3) for h in hazards)


def fitted(values, per_year):
    """What pyextremes says of them, if there are so many a year."""
    start = pandas.Timestamp("2000-01-01")
    step = pandas.Timedelta(days=365.2425) / per_year
    times = [start + step * i for i in range(len(values))]
    shuffled = values[:]
    random.Random(1).shuffle(shuffled)
    eva = pyextremes.EVA(pandas.Series(shuffled, index=pandas.DatetimeIndex(times)))
    # Each is a peak, and none is part of another's burst.
    eva.get_extremes("POT", threshold=0.0, r=step / 2)
    eva.fit_model("MLE", distribution="genpareto", distribution_kwargs={"floc": 0.0})
    model = eva.distribution.mle_parameters if hasattr(eva, "distribution") else eva.model.fit_parameters
    periods = [10.0, 1e3, 1e5]
    levels = eva.get_return_value(periods, return_period_size="365.2425D", alpha=None)[0]
    peaks_a_year = eva.extremes.size / ((times[-1] - times[0]) / pandas.Timedelta("365.2425D"))
    return {"excesses": values, "shape": model["c"], "scale": model["scale"],
            "peaks_a_year": peaks_a_year, "levels": [[t, float(v)] for t, v in zip(periods, numpy.atleast_1d(levels))]}


def main():
    cases = [fitted(excesses(shape, count), 12.0) for shape, count in [(-0.3, 200), (0.0, 400), (0.3, 100)]]
    by = f"pyextremes {pyextremes.__version__}, scipy {scipy.__version__}"
    json.dump({"by": by, "cases": cases}, sys.stdout)
    print()


main()
