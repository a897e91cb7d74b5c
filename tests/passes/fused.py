#!/usr/bin/env python3
"""fused.py SOURCE: every softmax of the examples is one with the sums that use it, but for those below.

Asks `attnc explain --json` of each example. Needs $ATTNC.
"""
import glob
import json
import os
import subprocess
import sys

# File and equation: why not, in the words of `explain`.
LEFT = {
    # The statistics of its columns are summed over the rows of the same matrix, and it is asked for as well.
    ("attention_over_attention", "alpha"): {"its weights sum to 1 over ld, but are summed over lq"},
    # Samples are drawn from the weights: one is read, none are summed.
    ("hard_attention", "probs"): {"its weights are read at other indices", "nothing is summed with its weights"},
    ("show_attend_tell_hard", "alpha"): {"its weights are read at other indices",
                                         "nothing is summed with its weights"},
    # A softmax is the whole program.
    ("masked_softmax", "weights"): {"nothing is summed with its weights"},
}


def explain(path):
    command = [os.environ["ATTNC"], "explain", path, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 1 and "must be known" in done.stderr:  # how many layers
        done = subprocess.run(command + ["-D", "N=1"], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{path}: exit code {done.returncode}\n{done.stderr}")
    return json.loads(done.stdout)


def main():
    faults, seen, fused = [], set(), 0
    for path in sorted(glob.glob(os.path.join(sys.argv[1], "examples/*.attn"))):
        stem = os.path.splitext(os.path.basename(path))[0]
        for model in explain(path):
            for norm in model["normalisers"]:
                fused += norm["fused"]
                if norm["fused"]:
                    continue
                key = stem, norm["name"]
                seen.add(key)
                if norm["why"] not in LEFT.get(key, ()):
                    faults.append(f"{stem}, model {model['model']}, {norm['name']}: not fused: {norm['why']}")
    faults += [f"{stem}, {name}: is fused now: take it out of the list" for stem, name in set(LEFT) - seen]
    for fault in faults:
        print(fault)
    print(f"{fused} fused, {len(faults)} faults")
    return 1 if faults or not fused else 0


if __name__ == "__main__":
    sys.exit(main())
