"""The table of public reports: `report` registers one."""

from dataclasses import dataclass, field

REPORTS = []


@dataclass
class Report:
    """A report of another tool's tracker, and the Iverson program for its situation."""

    tracker: str
    number: int
    situation: str
    expr: str
    value: object
    definitions: str = ""
    imports: str = ""
    files: dict = field(default_factory=dict)
    part: str = ""
    verdict: str = "agrees"

    @property
    def key(self):
        return f"{self.tracker} {self.number}" + (f" ({self.part})" if self.part else "")


def report(tracker, number, situation, expr, value, **more):
    """Registers a report: `expr` over `definitions` has `value`, a number or a function without arguments."""
    found = Report(tracker, number, situation, expr, value, **more)
    if any(other.key == found.key for other in REPORTS):
        raise ValueError(f"two reports {found.key}: give them parts")
    REPORTS.append(found)
