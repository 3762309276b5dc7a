"""The table of golden values and how a value is written as JSON.

A function that is registered under the name of a program computes the value of the program's `main`. It must
share nothing with Iverson: it uses NumPy's and SciPy's own routines if they exist.
Tuples and arrays are Python sequences or NumPy arrays, records are dicts, and `con` builds constructors.
"""

import json
import math
import pathlib

import numpy as np

PROGRAMS = {}


def tolerance(name):
    """Returns a tolerance of the scripts; one file contains all of them, with their reasons."""
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
    """Returns a value of a sum type."""
    return {name: list(args)}


def encode(value):
    """Returns the JSON form of a value; special reals are strings."""
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
