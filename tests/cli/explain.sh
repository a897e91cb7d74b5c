#!/bin/sh
# attnc explain: what it says of normalisers, recurrences, masks, work and memory.
. "$(dirname "$0")/common"

cat >m.attn <<'ATTN'
recurrence network(x: [T, D]) -> (h: [T, H], a: [T, T]) {
  param W: [H, D]
  param U: [H, H]
  c[-1]   = 0
  h[t]    = tanh(W @ x[t] + U @ c[t-1])
  a[t, i] = softmax[i <= t and t < i + 8](dot(h[t], h[i]))
  c[t]    = sum[i](a[t, i] * h[i])
}
model run[B] = network
ATTN

# Formulas where a size is open, numbers where all are given.
expect 0 "$ATTNC" explain m.attn
for line in "model run" normalisers "m.attn:6  a: " "recurrences" "over t, step by step: " "through c[t-1]" \
    "for all t at once: " "masks" "i <= t: " "t < i + 8: " "bounds of the loop over tiles" "work" "operations  " \
    "functions   " "memory      " "workspace   " "prepared    "; do
    says out "$line"
done
says out "B*T*T"
says_not out FLOP
silent err
sizes="-D B=2 -D T=256 -D D=8 -D H=16"
# shellcheck disable=SC2086 # a list of words
expect 0 "$ATTNC" explain m.attn $sizes
says out FLOP
says out "% of the tiles skipped"
says out "operations a byte"
says out "estimate: "
says_not out "B*T"

# As JSON; the workspace is what the compiled code asks for.
# shellcheck disable=SC2086
expect 0 "$ATTNC" explain m.attn $sizes --json
cp out e.json
# shellcheck disable=SC2086
expect 0 "$ATTNC" bench m.attn $sizes --json --for 1
"$PYTHON" - <<'PY' || fault "the JSON is not as it should be"
import json
[e] = json.load(open("e.json"))
b = json.load(open("out"))
assert e["model"] == "run", e
[n] = e["normalisers"]
assert n["name"] == "a" and n["line"] == 6, n
assert n["weights_bytes"] == str(2 * 256 * 256 * 4) and 0 < n["share"] < 0.1, n
[r] = e["recurrences"]
assert r["step"] == "t" and not r["backward"] and "h" in r["sequential"] and "c[t-1]" in r["through"], r
[m] = [m for m in e["masks"] if len(m["parts"]) == 2][:1]
assert 0 <= m["full"] <= m["visited"] < m["tiles"], m
w = e["work"]
assert w["workspace_bytes"] == b["workspace_bytes"] and w["prepared_bytes"] == b["prepared_bytes"], (w, b)
assert w["flops"] == b["flops"] and w["bytes"] == b["bytes"] and w["exact"], (w, b)
PY

# Sums over earlier steps: how they are carried along, in one call and by steps, and why not. What
# the compiler makes for that is told there alone.
cat >sums.attn <<'ATTN'
recurrence sums(q: [T, D], k: [T, D], v: [T, E]) -> (a: [T, E], b: [T, E], c: [T, E]) {
  a[t] = sum[i <= t](0.9^(t - i) * dot(q[t], k[i]) * v[i])
  b[t] = sum[i <= t](v[i])
  c[t] = sum[i <= t](tanh(dot(q[t], k[i])) * v[i])
}
model run = sums
ATTN
expect 0 "$ATTNC" explain sums.attn
for line in "sums.attn:2  a: in chunks of steps" "a step by step: by a state" \
    "b: carried from step" "b step by step: carried" \
    "c: as it is written: its terms are no products"; do
    says out "$line"
done
says_not out recurrences
says_not out "not finite"
expect 0 "$ATTNC" explain sums.attn --disable-pass=scans
says out "a: as it is written: the pass scans did not run"
expect 0 "$ATTNC" explain sums.attn --json
"$PYTHON" - <<'PY' || fault "the JSON of the sums is not as it should be"
import json
[e] = json.load(open("out"))
ways = {s["name"]: s["way"] for s in e["sums"]}
assert ways == {"a": "chunks", "b": "running", "c": "written"}, e["sums"]
assert {s["name"]: s["way"] for s in e["sums_by_steps"]} == dict(ways, a="state"), e["sums_by_steps"]
PY

# The sizes of IR text, which are still open there.
expect 0 "$ATTNC" dump m.attn
cp out m.ir
expect 0 "$ATTNC" explain m.ir -D B=2 -D T=256 -D D=8 -D H=16 --json
"$PYTHON" - <<'PY' || fault "IR text gives other numbers"
import json
[a], [b] = json.load(open("e.json")), json.load(open("out"))
assert a["work"]["flops"] == b["work"]["flops"] and a["work"]["bytes"] == b["work"]["bytes"]
PY

expect 0 "$ATTNC" explain m.ir --disable-pass=domains
says out "element by element"
says_not out "of the loop over tiles"

# A sum whose elements go where data says.
cat >by_data.attn <<'END'
encoder buckets(x: [J, D], id: int[J], n: int, near: [I]) -> (y: [I, D]) {
  y[i] = sum[j where id[j] == i and j < n](x[j]) + near[i]
}
model run[B] = buckets
END
expect 0 "$ATTNC" explain by_data.attn
says out "id[j] == i: no test: each j goes to the i that it names"

# What stands in formulas often has a name, by another letter than the dims, and only where it cannot be negative.
cat >named.attn <<'END'
encoder project(x: [T, n1], z: [T, K]) -> (y: [T, H]) {
  param A: [H, n1]
  param C: [H, K]
  param b: [H]
  y[t] = tanh(A @ x[t] + b) * (C @ z[t])
}
model run[B] = project
END
expect 0 "$ATTNC" explain named.attn
says out "where       n2 = ((H + 63) // 64)"
says out "*n1*n2"
says_not out "n1 ="

# Everything, of a file with several models; wrong files as for the other commands.
printf 'fn f(x: [T]) -> [T] {\n  return x + 1\n}\nmodel a = f\nmodel b[B] = f\n' >two.attn
expect 0 "$ATTNC" explain two.attn
says out "model a"
says out "model b"
says_not out masks
expect 0 "$ATTNC" explain two.attn --entry b
says_not out "model a"
printf 'fn f(x: [T]) -> [T] {\n  return x + 1\n}\n' >library.attn
expect 1 "$ATTNC" explain library.attn
says err "no model"
expect 0 "$ATTNC" dump two.attn --entry a --stage=kernel
cp out k.ir
expect 1 "$ATTNC" explain k.ir
says err "holds a kernel"

finish
