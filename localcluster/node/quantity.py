"""Kubernetes quantities as numbers: "500m", "1.5Gi", 2, "1e3". Pure."""

import math
import re
from decimal import Decimal

SUFFIXES = {
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    "": Decimal(1),
    "k": Decimal(10) ** 3,
    "M": Decimal(10) ** 6,
    "G": Decimal(10) ** 9,
    "T": Decimal(10) ** 12,
    "P": Decimal(10) ** 15,
    "E": Decimal(10) ** 18,
    "Ki": Decimal(2) ** 10,
    "Mi": Decimal(2) ** 20,
    "Gi": Decimal(2) ** 30,
    "Ti": Decimal(2) ** 40,
    "Pi": Decimal(2) ** 50,
    "Ei": Decimal(2) ** 60,
}
PATTERN = re.compile(r"([+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?)([A-Za-z]*)")


def parse_quantity(text: str | int | float) -> Decimal:
    """Raises ValueError for what is no quantity."""
    match = PATTERN.fullmatch(str(text).strip())
    if match is None or match[2] not in SUFFIXES:
        raise ValueError(f"not a quantity: {text!r}")
    return Decimal(match[1]) * SUFFIXES[match[2]]


def divide_up(quantity: str | int | float, divisor: str | int | float) -> int:
    """How many divisors, the last one begun: what a resourceFieldRef shows."""
    return math.ceil(parse_quantity(quantity) / (parse_quantity(divisor) or Decimal(1)))
