#!/usr/bin/env python3
"""fused.py SOURCE: every softmax of the examples is one with the sums that use it, but for those below, and where all
of a model's are, no temporary memory is as large as queries times keys, but for those below.

Asks `attnc explain --json` of each example. The workspace is a formula over dims: where a row and a key of a softmax
grow together it must not grow by their product. (Weights that are asked for are a result and no workspace.) What is
listed here examples/README.md tells the reader. Needs $ATTNC.
"""
import glob
import json
import os
import re
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


# File and model ("": all): why the workspace holds something as large as the weights.
LARGE = {
    # The hidden layer of a perceptron as a score: each of its units goes into all units of the next layer.
    ("score_mlp", ""): "a sum within the score of sums within the score",
    # Weights times another factor are a result, and that product is made of the stored weights.
    ("luong_local", "run_p_dot_nofeed"): "weights that are scaled are asked for",
    ("luong_local", "run_p_general_nofeed"): "weights that are scaled are asked for",
    ("luong_local", "run_p_concat_nofeed"): "weights that are scaled are asked for",
    ("luong_local", "run_p_location_nofeed"): "weights that are scaled are asked for",
    # Weights of several layers or with heads in two axes are copied into one result.
    ("stories260k", "run"): "weights are asked for in another layout",
    ("use_lite", ""): "weights are asked for in another layout",
}
FEW, MANY = 5, 1 << 20


def symbols(formula):
    return set(re.findall(r"[A-Za-z_]\w*", formula)) - {"min", "max"}


def growth(formula, row, key):
    """What the formula has of row times key: its mixed difference where both are large and all else is small."""
    def at(r, k):
        sizes = {s: FEW for s in symbols(formula)}
        for extent, n in ((row, r), (key, k)):
            for s in symbols(extent):
                sizes[s] = max(n, FEW)
        if row == key or symbols(row) & symbols(key):  # one axis twice: it grows with both
            for s in symbols(row) | symbols(key):
                sizes[s] = r + k + FEW
        return eval(formula, {"min": min, "max": max}, sizes)  # an expression that attnc has printed
    return at(MANY, MANY) - at(MANY, 0) - at(0, MANY) + at(0, 0)


def is_large(model):
    formula = model["work"]["workspace_formula"]
    for norm in model["normalisers"]:
        for key in norm["over"]:
            # Where queries are as many as keys, what belongs to the queries has other rows times that number.
            same = [row for row in norm["rows"] if symbols(row) & symbols(key)]
            if any(growth(formula, row, key) >= MANY * MANY for row in same or norm["rows"]):
                return True
    return False


def explain(path):
    command = [os.environ["ATTNC"], "explain", path, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 1 and "must be known" in done.stderr:  # how many layers
        done = subprocess.run(command + ["-D", "N=1"], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{path}: exit code {done.returncode}\n{done.stderr}")
    return json.loads(done.stdout)


def main():
    faults, seen, fused, large = [], set(), 0, set()
    for path in sorted(glob.glob(os.path.join(sys.argv[1], "examples/*.attn"))):
        stem = os.path.splitext(os.path.basename(path))[0]
        for model in explain(path):
            if all(norm["fused"] for norm in model["normalisers"]) and is_large(model):
                key = next((k for k in ((stem, model["model"]), (stem, "")) if k in LARGE), None)
                large.add(key)
                if not key:
                    faults.append(f"{stem}, model {model['model']}: the workspace is as large as the weights: "
                                  f"{model['work']['workspace_formula']}")
            for norm in model["normalisers"]:
                fused += norm["fused"]
                if norm["fused"]:
                    continue
                key = stem, norm["name"]
                seen.add(key)
                if norm["why"] not in LEFT.get(key, ()):
                    faults.append(f"{stem}, model {model['model']}, {norm['name']}: not fused: {norm['why']}")
    faults += [f"{stem}, {name}: is fused now: take it out of the list" for stem, name in set(LEFT) - seen]
    faults += [f"{' '.join(key)}: needs no such memory now: take it out of the list" for key in set(LARGE) - large]
    for fault in faults:
        print(fault)
    print(f"{fused} fused, {len(faults)} faults")
    return 1 if faults or not fused else 0


if __name__ == "__main__":
    sys.exit(main())
