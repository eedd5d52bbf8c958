# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A table of figures beside their targets.

A row is a dict with a `name` and

  - a time in seconds, as timer.Timer has it: `median`, `least`, `runs`, `seconds`
    and perhaps `cpu`; with `ops`, of so many things that are done in it
  - or another `value` with its `unit`
  - or `over`, what a time or a value exceeds
  - or `absent`, why there is no figure
  - or `error`, what went wrong

With a `target`, which a figure is to be at most, it also has `met`, null if that
is not known.
"""

import timer

HEADER = ["what", "median", "least", "CPU", "runs", "target", "met"]


class Absent(Exception):
    """Why there is no figure."""


class Table:
    """Prints each row as soon as it is there."""

    def __init__(self):
        self.rows = []

    def print_header(self):
        print(f"{_line(HEADER)}\n{'|---' * len(HEADER)}|", flush=True)

    def add(self, name, measure, target=None, **more):
        """Adds what measure() returns, and returns the row."""
        try:
            row = measure()
        except timer.OverLimit as reason:
            row = {"over": reason.args[0]}
        except Absent as reason:
            row = {"absent": str(reason)}
        except timer.Failure as reason:
            row = {"error": str(reason)}
        row = {"name": name, **row, **more}
        if target is not None:
            row.update(target=target, met=_is_met(row, target))
        self.rows.append(row)
        print(_line(_columns(row)) + _reason(row), flush=True)
        return row

    def has_failed(self):
        return any("error" in row for row in self.rows)

    def summary(self):
        """Lines of text."""
        missed = self._by_met(False)
        unknown = self._by_met(None)
        met = self._by_met(True)
        total = len(met) + len(missed) + len(unknown)
        lines = [f"{len(met)} of {total} targets met, {len(missed)} missed, "
                 f"{len(unknown)} not known"]
        lines += [f"- missed: {row['name']}" for row in missed]
        lines += [f"- not known: {row['name']}" for row in unknown]
        lines += [f"- failed: {row['name']}{_reason(row)}"
                  for row in self.rows if "error" in row]
        return lines

    def _by_met(self, met):
        return [row for row in self.rows if row.get("met", "no target") is met]


def value_of(row):
    """The figure of a row; None if it has none."""
    return row.get("median", row.get("value"))


def _is_met(row, target):
    value = value_of(row)
    if value is not None:
        return value <= target
    return False if row.get("over", -1) >= target else None


def _reason(row):
    reason = row.get("error") or row.get("absent")
    return f": {reason}" if reason else ""


def _number(value, row):
    if "unit" in row:
        return f"{value:.3g} {row['unit']}"
    return f"{1e3 * value:.3g} ms" if value < 0.1 else f"{value:.3g} s"


def _rate(seconds, row):
    return f" ({row['ops'] / seconds:,.0f} ops/s)" if "ops" in row else ""


def _columns(row):
    def column(key):
        return _number(row[key], row) if key in row else "-"

    value, target = value_of(row), "-"
    if value is not None:
        figure = _number(value, row) + _rate(value, row)
    elif "over" in row:
        figure = "> " + column("over")
    else:
        figure = "failed" if "error" in row else "absent"
    if "target" in row:
        target = "<= " + column("target") + _rate(row["target"], row)
    met = {True: "yes", False: "no", None: "not known"}
    return [row["name"], figure, column("least"), column("cpu"),
            str(row.get("runs", "-")), target,
            met[row["met"]] if "met" in row else "-"]


def _line(columns):
    return f"| {' | '.join(columns)} |"
