#!/bin/sh
# Tensors in pieces: tiles and boundary values along a part of a packed axis, left sides with fewer indices than
# a packed axis has, a tile whose range is what its declaration leaves over.
. "$(dirname "$0")/common"

cat >pieces.attn <<'ATTN'
fn turn(x: [(P, 2)]) -> (y: [(P, 2)]) {
  y[p, 0] = x[p, 0] - x[p, 1]
  y[p, 1] = x[p, 1] + 10 * x[p, 0]
}
fn middle(x: [(A, 3, 2)]) -> (y: [(A, 3, 2)]) {
  y[a, 0]   = 2 * x[a, 0]
  y[a, k+1] = x[a, k+1] + y[a, k]
}
fn prior(x: [(A, 3)]) -> (y: [(A, 3)]) {
  y[-1] = 100
  y[a]  = x[a] + y[a-1]
}
fn heads(x: [T, E]) -> (o: [T, (N, E)]) {
  param g: [N]
  o[t, n] = g[n] * x[t]
}
fn padded(x: [N]) -> (m: [4]) {
  s: [N + 3]
  s[n in N] = x[n]
  s[N + i]  = -x[N - 2 - i]
  z[f in 4] = s[f + N - 1]
  m[f]      = z[f]
}
model run(x: [T, E])
    -> (turned: [T, E], moved: [T, E], summed: [T, E], o: [T, (N, E)], m: [T, 4]) {
  turned[t] = turn(x[t])
  moved[t]  = middle(x[t])
  summed[t] = prior(x[t])
  o = heads(x)
  m[t] = padded(x[t])
}
ATTN

tensors write x.npz x:F32:1x6=1,2,3,4,5,6
tensors write w.npz g:F32:2=1,2
for mode in "" --interp; do
    expect 0 "$ATTNC" run pieces.attn $mode -i x.npz -w w.npz -o o.npz
    tensors read o.npz >out
    says out "turned F32 1x6 -1 12 -1 34 -1 56"
    says out "moved F32 1x6 2 4 5 8 10 14"
    says out "summed F32 1x6 101 102 103 105 107 109"
    says out "o F32 1x12 1 2 3 4 5 6 2 4 6 8 10 12"
    says out "m F32 1x4 6 -5 -4 -3"
done

finish
