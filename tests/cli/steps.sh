#!/bin/sh
# attnc run --steps: any cut of the sequence gives what one call gives; the same by a host of its own.
. "$(dirname "$0")/common"

cat >rnn.ir <<'IR'
graph @rnn real f32 recurrence step t {
  dims B, T, H
  %x = input "x" f32 : f32<b:B, t:T, h:H>
  %h0 = input "h0" f32 : f32<b:B, k:H>
  %W = param "W" f32 : f32<h:H, k:H>
  %s = scan #0 t {
    %h.0 = history #0 0 "h" rows i : f32<b:B, i:T, h:H>
    %1 = read %h.0[b, t - 1, k] where 1 <= t : f32<b:B, t:T, k:H>
    %2 = select 1 <= t, %1, %h0 : f32<t:T, b:B, k:H>
    %3 = contract %W, %2 over k : f32<h:H, t:T, b:B>
    %4 = add %3, %x : f32<h:H, t:T, b:B>
    %h = tanh %4 : f32<h:H, t:T, b:B>
    %h.1 = append %h.0, %h at t : f32<b:B, i:T, h:H>
    yield %h.1
  }
  %r = result %s 0 : f32<b:B, i:T, h:H>
  %last = read %r[b, {T - 1}, h] where 1 <= T : f32<b:B, h:H>
  output "h" f32 %r[b, i, h]
  output "last" f32 %last[b, h]
}
IR
sizes="-D B=2 -D T=7 -D H=3"

# shellcheck disable=SC2086
expect 0 "$ATTNC" run rnn.ir --seed 5 $sizes
says out "last  f32[b: 2, h: 3]"
cp out whole
for cut in "" =1 =2 =7 =100 =4,1 =1,2,3; do
    # shellcheck disable=SC2086
    expect 0 "$ATTNC" run rnn.ir --seed 5 $sizes --steps$cut
    cmp -s out whole || fault "--steps$cut gives other results"
done
expect 0 "$ATTNC" run rnn.ir --seed 5 -D B=2 -D T=0 -D H=3 --steps
says out "h  f32[b: 2, i: 0, h: 3]"
expect 0 "$ATTNC" run rnn.ir --seed 5 -D B=2 -D T=7 -D H=3 --steps --threads 2
cmp -s out whole || fault "two threads give other results"

# Mistakes.
for cut in 0 -1 x 1, ,1 1,,2 99999999999999999999; do
    expect 2 "$ATTNC" run rnn.ir --seed 5 "--steps=$cut"
    says err "--steps takes numbers"
done
expect 2 "$ATTNC" run rnn.ir --seed 5 --steps --interp
expect 1 "$ATTNC" run layer.ir --seed 1 -D T=3 -D E=4 -D H=5 --steps
says err "the model run has no steps"
expect 1 "$ATTNC" dump layer.ir --steps
says err "the model run has no steps"

# What the compiler is asked for: a step kernel that reads back, and no code for it unless it is wanted.
expect 0 "$ATTNC" dump rnn.ir --steps --stage=kernel
says out "steps rows of T"
cp out step.ir
expect 0 "$ATTNC" opt step.ir
cmp -s out step.ir || fault "the step kernel reads back as another one"
expect 1 "$ATTNC" run step.ir --seed 1
says err "a step kernel alone"
expect 0 "$ATTNC" dump rnn.ir --stage=llvm
says_not out "rnn_step"

# A host that knows the header alone.
expect 0 "$ATTNC" build rnn.ir -o librnn.so
says_not librnn.h "void *unused"
cat >host.c <<'C'
#include "librnn.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { B = 2, T = 5, H = 3 };

int main(void)
{
    float x[B][T][H], row[B][1][H], h0[B][H] = {{0.5f}}, W[H][H], whole[B][T][H], h[B][1][H];
    float last[B][H], end[B][H];
    for (int i = 0; i < B * T * H; i++)
        (&x[0][0][0])[i] = (float)(i % 7) / 4 - 0.5f;
    for (int i = 0; i < H * H; i++)
        (&W[0][0])[i] = (float)(i % 5) / 8 - 0.25f;
    rnn_dims dims = {.B = B, .T = T, .H = H};
    rnn_params params = {.W = &W[0][0]};
    rnn_inputs inputs = {.x = &x[0][0][0], .h0 = &h0[0][0]};
    rnn_outputs outputs = {.h = &whole[0][0][0], .last = &end[0][0]};
    size_t n = rnn_state(&dims), m = rnn_workspace(&dims, 1);
    void *state = aligned_alloc(64, (n + 63) / 64 * 64);
    void *workspace = aligned_alloc(64, (m + 127) / 64 * 64);
    if (!state || !workspace || rnn(&dims, &params, NULL, &inputs, &outputs, workspace, NULL))
        return 1;
    rnn_begin_inputs begin = {.h0 = &h0[0][0]};
    if (rnn_begin(&dims, &params, NULL, &begin, state, workspace, NULL))
        return 2;
    memset(h0, 0xff, sizeof h0); /* the state has what it needs */
    memset(&dims, 0, sizeof dims);
    rnn_step_inputs in = {.x = &row[0][0][0]};
    rnn_step_outputs out = {.h = &h[0][0][0], .last = &last[0][0]};
    for (int t = 0; t < T; t++) {
        for (int b = 0; b < B; b++)
            memcpy(row[b][0], x[b][t], sizeof row[b][0]);
        if (rnn_step(state, 1, &in, &out, workspace, NULL))
            return 3;
        for (int b = 0; b < B; b++)
            for (int i = 0; i < H; i++)
                if (h[b][0][i] - whole[b][t][i] > 1e-6f || whole[b][t][i] - h[b][0][i] > 1e-6f)
                    return 4;
    }
    if (memcmp(last, h, sizeof last) != 0)
        return 5;
    if (rnn_step(state, 1, &in, &out, workspace, NULL) != ATTN_CAPACITY)
        return 6;
    puts(attn_status_text(ATTN_CAPACITY));
    free(state);
    free(workspace);
    return rnn_info.capacity && rnn_info.tensors[0].step_axis == 1 ? 0 : 7;
}
C
if command -v "$CC" >/dev/null; then
    expect 0 "$CC" -std=c11 -Wall -Wextra -Wpedantic -Werror host.c -o host ./librnn.so -Wl,-rpath,.
    expect 0 ./host
    says out "more steps than the capacity"
fi
finish
