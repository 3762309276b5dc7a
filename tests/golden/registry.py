"""The table of golden values and how a value is written as JSON.

A function registered under the name of a program computes what the program's `main` gives, by
means that share nothing with Iverson: NumPy's and SciPy's own routines wherever there is one.
Tuples and arrays are Python sequences or NumPy arrays, records are dicts, constructors are made
by `con`.
"""

import json
import math
import pathlib

import numpy as np

PROGRAMS = {}


def tolerance(name):
    """A tolerance of the scripts; all stand in one file, with their reasons."""
    path = pathlib.Path(__file__).parent / "tolerances.json"
    return json.loads(path.read_text(encoding="utf-8"))["golden scripts"][name]


def golden(name):
    """Registers a function that computes the value of the program of that name."""

    def register(function):
        if name in PROGRAMS:
            raise ValueError(f"two golden values for {name}")
        PROGRAMS[name] = function
        return function

    return register


def con(name, *args):
    """A value of a sum type."""
    return {name: list(args)}


def encode(value):
    """The JSON form of a value: special reals are strings."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        value = float(value)
        if math.isnan(value):
            return "NaN"
        if math.isinf(value):
            return "Infinity" if value > 0 else "-Infinity"
        return value
    if isinstance(value, dict):
        return {key: encode(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return encode(value.tolist()) if value.dtype != np.float32 else [encode(v) for v in value]
    if isinstance(value, (list, tuple)):
        return [encode(item) for item in value]
    raise TypeError(f"no JSON form for {type(value)}")
