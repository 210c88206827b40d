"""Kubernetes quantities as numbers: "500m", "1.5Gi", 2, "1e3". Pure."""

import math
import re
from decimal import Decimal

SUFFIXES = {
    **{unit.strip(): Decimal(1000) ** power for power, unit in enumerate("num kMGTPE", -3)},
    **{f"{unit}i": Decimal(1024) ** power for power, unit in enumerate("KMGTPE", 1)},
}
PATTERN = re.compile(r"([+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?)([A-Za-z]*)")


def parse_quantity(text: str | int | float) -> Decimal:
    """Parse a quantity. Raises ValueError."""
    match = PATTERN.fullmatch(str(text).strip())
    if match is None or match[2] not in SUFFIXES:
        raise ValueError(f"not a quantity: {text!r}")
    return Decimal(match[1]) * SUFFIXES[match[2]]


def divide_up(quantity: str | int | float, divisor: str | int | float) -> int:
    """Divide and round up, as a resourceFieldRef does; a divisor of 0 counts as 1."""
    return math.ceil(parse_quantity(quantity) / (parse_quantity(divisor) or Decimal(1)))
