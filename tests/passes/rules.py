#!/usr/bin/env python3
"""rules.py SOURCE: which rules the tests of the passes and the examples reach. All of passes/rules.def must.

Every graph of tests/passes runs through the passes that its RUN line names, every example through all of them and the
schedule, with `attnc ... --rules`, which prints a line `COUNT  PASS.RULE: MEANING` for each rule. The models of
tests/passes/rules/*.attn are each made for some rules, which the line `# aims MODEL: RULES` in front of it names: they
must reach those, and of the ways to solve a predicate no other. What a predicate is, is counted as `predicate.MODEL`.
Needs $ATTNC.
"""
import glob
import os
import re
import subprocess
import sys

EXAMPLES = ["-D", "N=1"]  # how many layers, where an example must be told
WAYS = {"domains." + way for way in ("outer", "bounds", "tiles", "data", "elements")}


def commands(source):
    attnc = os.environ["ATTNC"]
    for path in sorted(glob.glob(os.path.join(source, "tests/passes/*/*.ir"))):
        with open(path, encoding="utf-8") as f:
            text = f.read()
        for passes in re.findall(r"RUN: attnc opt %s --passes=(\S+)", text):
            yield [attnc, "opt", path, "--passes=" + passes, "--rules"]
    for path in sorted(glob.glob(os.path.join(source, "examples/*.attn"))):
        yield [attnc, "dump", path, "--stage=kernel", "--rules"]
        yield [attnc, "dump", path, "--stage=kernel", "--rules", "--steps"]


def reached(command):
    """The counts by rule, and whether it ran."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode and "-D" not in command and "must be known" in done.stderr:
        done = subprocess.run(command + EXAMPLES, capture_output=True, text=True, check=False)
    counts = re.findall(r"^ *(\d+)  (\w+\.\w+): ", done.stderr, re.M)
    return {rule: int(count) for count, rule in counts}, done.returncode == 0


def add(hits, more):
    for rule, count in more.items():
        hits[rule] = hits.get(rule, 0) + count


def aimed(path, hits, faults):
    """The models of one file: how many ran."""
    runs = 0
    with open(path, encoding="utf-8") as f:
        text = f.read()
    aims = dict(re.findall(r"^# aims (\w+): (.*)$", text, re.M))
    faults += [f"{path}: model {m} aims at nothing" for m in re.findall(r"^model (\w+)", text, re.M) if m not in aims]
    for model, rules in aims.items():
        want, have = set(rules.split()), {}
        command = [os.environ["ATTNC"], "dump", path, "--entry", model, "--stage=kernel", "--rules"]
        for more in [[], ["--steps"]] if re.search(rf"^recurrence e_{model}\(", text, re.M) else [[]]:
            counts, ran = reached(command + more)
            if not ran:
                faults.append(f"{' '.join(command + more)} failed")
            add(have, counts)
            runs += ran
        got = {rule for rule, count in have.items() if count}
        faults += [f"{path}: {model} does not reach {rule}" for rule in sorted(want - got)]
        if want & WAYS:
            faults += [f"{path}: {model} is also solved by {rule}" for rule in sorted((got & WAYS) - want)]
            have["predicate." + model] = int(want <= got)
        add(hits, have)
    return runs


def main():
    hits, faults, runs = {}, [], 0
    for command in commands(sys.argv[1]):
        counts, ran = reached(command)
        add(hits, counts)
        runs += ran
    for path in sorted(glob.glob(os.path.join(sys.argv[1], "tests/passes/rules/*.attn"))):
        runs += aimed(path, hits, faults)
    for rule, count in hits.items():
        print(f"{count:8}  {rule}")
    for fault in faults:
        print(fault)
    missed = [rule for rule, count in hits.items() if count == 0]
    print(f"{runs} graphs and programs, {len(hits)} rules, not reached: {', '.join(missed) or 'none'}")
    return 1 if missed or faults or not hits else 0


if __name__ == "__main__":
    sys.exit(main())
