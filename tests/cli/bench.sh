#!/bin/sh
# attnc bench: what it reports, in text and as JSON.
. "$(dirname "$0")/common"

cat >m.attn <<'ATTN'
encoder attention(q: [T, D], k: [S, D], v: [S, D]) -> (o: [T, D]) {
  o[i] = sum[j](softmax[j <= i](dot(q[i], k[j])) * v[j])
}
model run[B] = attention
model all[B](x: [T, D]) -> (y: [T, D]) {
  y = tanh(x)
}
ATTN
sizes="-D B=2 -D T=64 -D S=64 -D D=16"

# shellcheck disable=SC2086 # lists of words
expect 0 "$ATTNC" bench m.attn --entry run $sizes --for 5
for line in "run  " "time  " "median of" "1 thread" "work  " "FLOP/s" "of this machine's" "functions  " "memory  " \
    "B/s" "workspace  " "compiled   in"; do
    says out "$line"
done
says out "D=16"
silent err

# shellcheck disable=SC2086
expect 0 "$ATTNC" bench m.attn --entry run $sizes --for 5 --json --threads 2 --real f64
"$PYTHON" - <<'PY' || fault "the JSON is not as it should be"
import json
d = json.load(open("out"))
assert d["model"] == "run" and d["threads"] == 2 and d["calls"] >= 3, d
assert d["settings"] == {"B": "2", "T": "64", "S": "64", "D": "16"}, d
pairs = 2 * 64 * 65 / 2
assert abs(d["flops"] / (pairs * (4 * 16 + 4)) - 1) < 0.02, d
assert abs(d["function_values"] / pairs - 1) < 0.02 and d["exact"], d
assert d["bytes"] == 2 * 64 * 16 * 8 * 4, d
assert 0 < d["least_seconds"] <= d["seconds"] <= d["most_seconds"], d
assert abs(d["flops_per_second"] * d["seconds"] / d["flops"] - 1) < 1e-9, d
assert d["machine_flops_per_second"] > d["flops_per_second"] and d["machine_bytes_per_second"] > 0, d
PY

# Open sizes have to be known, a model chosen, and a file's tensors serve as well.
expect 1 "$ATTNC" bench m.attn --entry run
says err "-D"
expect 1 "$ATTNC" bench m.attn
says err "--entry"
expect 2 "$ATTNC" bench m.attn --for 0
expect 0 "$ATTNC" run m.attn --entry all --seed 1 -D B=1 -D T=3 -D D=2 -o x.npz
expect 1 "$ATTNC" bench m.attn --entry all -i x.npz --strict -D B=1 -D T=3 -D D=2
says err "x.npz"
# A kernel is timed; what it means to compute is not known.
expect 0 "$ATTNC" dump m.attn --entry all --stage=kernel
cp out k.ir
expect 0 "$ATTNC" bench k.ir -D B=1 -D T=3 -D D=2 --for 1
says_not out FLOP

finish
