"""Recorded cases, and which program computes one: golden/manifest.json says it. Not how it is run:
that is routes.py. Needs only python3's standard library."""
import json
import os

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Case:
    def __init__(self, folder):
        self.folder = folder
        with open(os.path.join(folder, "case.json"), encoding="utf-8") as f:
            about = json.load(f)
        self.name = f"{about['system']}/{about['case']}"
        self.system = about["system"]
        self.values = {"dims": about.get("dims", {}), "options": about.get("options", {})}
        self.rtol = about["tolerance"]["rtol"]
        self.atol = about["tolerance"]["atol"]

    def file(self, name):
        return os.path.join(self.folder, name + ".safetensors")


def load_manifest():
    with open(os.path.join(ROOT, "tests", "golden", "manifest.json"), encoding="utf-8") as f:
        return json.load(f)


def matches(when, options):
    """Each option has the value, or one of the values. null: it is not given."""
    for name, value in when.items():
        if options.get(name) not in (value if isinstance(value, list) else [value]):
            return False
    return True


def number(value):
    """A value as -D takes it."""
    return str(int(value)) if isinstance(value, bool) else str(value)


def select(manifest, case):
    """(program, entry, defines) of a case, or a reason why there is none."""
    system = manifest["systems"].get(case.system)
    if system is None:
        return None, "no program for this system"
    options = case.values["options"]
    rule = next((r for r in system.get("rules", [{}]) if matches(r.get("when", {}), options)), None)
    try:
        entry = rule["entry"].format(**options) if "entry" in rule else "run"
    except (TypeError, KeyError):  # no rule, or the entry's name needs an option that is not given
        return None, f"no rule for the options {json.dumps(options)}"
    defines = []
    for name, place in {**system.get("defines", {}), **rule.get("defines", {})}.items():
        table, _, key = place.partition(".")
        if key in case.values[table]:
            defines.append(f"{name}={number(case.values[table][key])}")
    return (os.path.join(ROOT, system["program"]), entry, tuple(defines)), None
