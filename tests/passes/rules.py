#!/usr/bin/env python3
"""rules.py SOURCE: which rewrite rules the tests of the passes and the examples reach. All of passes/rules.def must.

Every graph of tests/passes runs through the passes that its RUN line names, every example through all of them, with
`attnc ... --rules`, which prints a line `COUNT  PASS.RULE: MEANING` for each rule. Needs $ATTNC.
"""
import glob
import os
import re
import subprocess
import sys

EXAMPLES = ["-D", "N=1"]  # how many layers, where an example must be told


def commands(source):
    attnc = os.environ["ATTNC"]
    for path in sorted(glob.glob(os.path.join(source, "tests/passes/*/*.ir"))):
        with open(path, encoding="utf-8") as f:
            text = f.read()
        for passes in re.findall(r"RUN: attnc opt %s --passes=(\S+)", text):
            yield [attnc, "opt", path, "--passes=" + passes, "--rules"]
    for path in sorted(glob.glob(os.path.join(source, "examples/*.attn"))):
        yield [attnc, "dump", path, "--each", "--rules"]
        yield [attnc, "dump", path, "--each", "--rules", "--steps"]


def main():
    hits, runs = {}, 0
    for command in commands(sys.argv[1]):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode and "-D" not in command and "must be known" in done.stderr:
            done = subprocess.run(command + EXAMPLES, capture_output=True, text=True, check=False)
        runs += done.returncode == 0
        for count, rule in re.findall(r"^ *(\d+)  (\w+\.\w+): ", done.stderr, re.M):
            hits[rule] = hits.get(rule, 0) + int(count)
    for rule, count in hits.items():
        print(f"{count:8}  {rule}")
    missed = [rule for rule, count in hits.items() if count == 0]
    print(f"{runs} graphs and programs, {len(hits)} rules, not reached: {', '.join(missed) or 'none'}")
    return 1 if missed or not hits else 0


if __name__ == "__main__":
    sys.exit(main())
