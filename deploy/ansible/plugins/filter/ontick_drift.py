"""What changed on a machine since its baseline, in sentences."""

import re

DOCUMENTATION = r"""
name: ontick_drift
author: The ontick maintainers
short_description: What changed on a machine since its baseline
description:
  - Compares two answers of C(ontick check --all --json) and two of C(ontick tune status --json).
options:
  _input:
    description: The machine now, as a dictionary with C(check) and C(status).
    type: dict
    required: true
  baseline:
    description: The same of the day on which it was well.
    type: dict
    required: true
"""

EXAMPLES = r"""
drift: "{{ {'check': check, 'status': status} | ontick.fleet.ontick_drift(baseline) }}"
"""

RETURN = r"""
_value:
  description: A sentence for each difference, an empty list where there is none.
  type: list
  elements: str
"""


# Shares in per cent and counts since something change all the time. `ontick watch` leaves the same ones out.
FIGURE = re.compile(r"(?<!\S)\d+(?:\.\d+)?(?= (?:%|since(?: |$)))")


def shown(value):
    """A value as it is printed; an empty one is visible, too."""
    return value if value != "" else "nothing"


def settings(status):
    return {change["path"]: change for change in status["changes"]}


def of_settings(before, now):
    """What ontick set, and what is there."""
    found = []
    for path, change in settings(now).items():
        state = change["state"]
        if state == "changed_by_others":
            found.append(f"setting {path}: another program set {shown(change['now'])}; ontick had set {shown(change['set'])}")
        elif state == "as_before":
            found.append(f"setting {path}: is {shown(change['now'])} again; ontick had set {shown(change['set'])}")
        elif state == "gone":
            found.append(f"setting {path}: is not there any more")
    old, new = settings(before), settings(now)
    for path in old:
        if path not in new:
            found.append(f"setting {path}: is not changed by ontick any more; it had set {shown(old[path]['set'])}")
    for path in new:
        if path not in old:
            found.append(f"setting {path}: ontick set {shown(new[path]['set'])} after the baseline")
        elif new[path]["set"] != old[path]["set"]:
            found.append(f"setting {path}: ontick set {shown(new[path]['set'])}; it was {shown(old[path]['set'])}")
    return found


def findings(check):
    """By name; there may be several of one name."""
    found = {}
    for finding in check["findings"]:
        found.setdefault(finding["id"], []).append(f"{finding['severity']}: {finding['observed']}")
    return {name: sorted(texts) for name, texts in found.items()}


def without_figures(texts):
    return sorted(FIGURE.sub("…", text) for text in texts)


def of_findings(before, now):
    old, new = findings(before), findings(now)
    found = []
    for name in sorted(set(old) | set(new)):
        was, is_now = "; ".join(old.get(name, [])), "; ".join(new.get(name, []))
        if name not in new:
            found.append(f"finding {name}: is not there any more; it was {was}")
        elif name not in old:
            found.append(f"finding {name}: is new, {is_now}")
        elif without_figures(old[name]) != without_figures(new[name]):
            found.append(f"finding {name}: {is_now}; it was {was}")
    return found


def ontick_drift(now, baseline):
    return of_settings(baseline["status"], now["status"]) + of_findings(baseline["check"], now["check"])


class FilterModule:
    """The filters of this file."""

    def filters(self):
        return {"ontick_drift": ontick_drift}
