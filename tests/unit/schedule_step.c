/* schedule_step.c: step kernels, from the schedule to the entry points: stepping by any number of
 * rows gives what the whole sequence gives; what is kept from step to step; states and threads. */
#include "tests/unit/step_support.h"

#include <check.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* A cell that looks one step back, an optional start, the last row as an output of its own. */
static const char rnn[] = "graph @run real f32 recurrence step t {\n"
                          "  dims B, T, E, H\n"
                          "  %x = input \"x\" f32 : f32<b:B, t:T, e:E>\n"
                          "  %h0 = input \"h0\" f32 optional : f32<b:B, h:H>\n"
                          "  %W = param \"W\" f32 : f32<h:H, e:E>\n"
                          "  %U = param \"U\" f32 : f32<h:H, k:H>\n"
                          "  %g = given %h0 : bool<>\n"
                          "  %2 = read %h0[b, k] where %g : f32<b:B, k:H>\n"
                          "  %s = scan #0 t {\n"
                          "    %h.0 = history #0 0 \"h\" rows i : f32<b:B, i:T, h:H>\n"
                          "    %1 = read %h.0[b, t - 1, k] where 1 <= t : f32<b:B, t:T, k:H>\n"
                          "    %3 = select 1 <= t, %1, %2 : f32<t:T, b:B, k:H>\n"
                          "    %4 = contract %U, %3 over k : f32<h:H, t:T, b:B>\n"
                          "    %5 = contract %W, %x over e : f32<h:H, b:B, t:T>\n"
                          "    %6 = add %4, %5 : f32<h:H, t:T, b:B>\n"
                          "    %h = tanh %6 : f32<h:H, t:T, b:B>\n"
                          "    %h.1 = append %h.0, %h at t : f32<b:B, i:T, h:H>\n"
                          "    yield %h.1\n"
                          "  }\n"
                          "  %r = result %s 0 : f32<b:B, i:T, h:H>\n"
                          "  %last = read %r[b, {T - 1}, h] where 1 <= T : f32<b:B, h:H>\n"
                          "  output \"h\" f32 %r[b, i, h]\n"
                          "  output \"hT\" f32 %last[b, h]\n"
                          "}\n";

/* All earlier steps and the present one are looked at; an output with two axes of steps; the input
 * goes through a history. */
static const char self_attention[] =
    "graph @run real f32 recurrence step t {\n"
    "  dims B, T, E, H\n"
    "  %x = input \"x\" f32 : f32<b:B, t:T, e:E>\n"
    "  %A = param \"A\" f32 : f32<h:H, m:E + H>\n"
    "  %s = scan #0 t {\n"
    "    %x.0 = history #0 0 \"x\" rows i : f32<b:B, i:T, e:E>\n"
    "    %h.0 = history #0 1 \"h\" rows i : f32<b:B, i:T, h:H>\n"
    "    %c.0 = history #0 2 \"c\" rows i : f32<b:B, i:T, h:H>\n"
    "    %alpha.0 = history #0 3 \"alpha\" rows i : f32<b:B, i:T, j:T>\n"
    "    %x.1 = append %x.0, %x at t : f32<b:B, i:T, e:E>\n"
    "    %0 = read %x.1[b, t, e] : f32<b:B, t:T, e:E>\n"
    "    %1 = read %c.0[b, t - 1, h] where 1 <= t : f32<b:B, t:T, h:H>\n"
    "    %2 = select 1 <= t, %1, 0.0 : f32<t:T, b:B, h:H>\n"
    "    %3 = join m of (e %0), (h %2) : f32<m:E + H, b:B, t:T>\n"
    "    %4 = contract %A, %3 over m : f32<h:H, b:B, t:T>\n"
    "    %h = tanh %4 : f32<h:H, b:B, t:T>\n"
    "    %h.1 = append %h.0, %h at t : f32<b:B, i:T, h:H>\n"
    "    %6 = contract %h, %h.1 over h : f32<b:B, t:T, i:T>\n"
    "    %alpha = softmax %6 over i where i <= t : f32<b:B, t:T, i:T>\n"
    "    %7 = read %alpha[b, t, j] : f32<b:B, t:T, j:T>\n"
    "    %alpha.1 = append %alpha.0, %7 at t : f32<b:B, i:T, j:T>\n"
    "    %8 = weigh %alpha, %h.1 : f32<b:B, t:T, i:T, h:H>\n"
    "    %c = reduce sum %8 over i where i <= t : f32<b:B, t:T, h:H>\n"
    "    %c.1 = append %c.0, %c at t : f32<b:B, i:T, h:H>\n"
    "    yield %x.1, %h.1, %c.1, %alpha.1\n"
    "  }\n"
    "  %r1 = result %s 1 : f32<b:B, i:T, h:H>\n"
    "  %r2 = result %s 2 : f32<b:B, i:T, h:H>\n"
    "  %r3 = result %s 3 : f32<b:B, i:T, j:T>\n"
    "  output \"h\" f32 %r1[b, i, h]\n"
    "  output \"c\" f64 %r2[h, i, b]\n"
    "  output \"alpha\" f32 %r3[b, i, j]\n"
    "}\n";

/* Memory with an optional length: keys and values are the beginning's; an output that no step
 * changes. */
static const char decoder[] = "graph @run real f32 recurrence step t {\n"
                              "  dims B, T, S, H\n"
                              "  %x = input \"x\" f32 : f32<t:T, b:B, h:H>\n"
                              "  %memory = input \"memory\" f32 : f32<b:B, s:S, h:H>\n"
                              "  %n.in = input \"n\" i64 optional : i64<b:B>\n"
                              "  %Wk = param \"Wk\" f32 : f32<k:H, h:H>\n"
                              "  %Wv = param \"Wv\" f32 : f32<k:H, h:H>\n"
                              "  %g = given %n.in : bool<>\n"
                              "  %n.1 = read %n.in[b] where %g : i64<b:B>\n"
                              "  %n = select %g, %n.1, S : i64<b:B>\n"
                              "  %key = contract %Wk, %memory over h : f32<k:H, b:B, s:S>\n"
                              "  %val = contract %Wv, %memory over h : f32<k:H, b:B, s:S>\n"
                              "  %twice = mul %key, 2.0 : f32<k:H, b:B, s:S>\n"
                              "  %s = scan #0 t {\n"
                              "    %y.0 = history #0 0 \"y\" rows i : f32<b:B, i:T, k:H>\n"
                              "    %1 = read %y.0[b, t - 1, k] where 1 <= t : f32<b:B, t:T, k:H>\n"
                              "    %2 = read %x[t, b, k] : f32<t:T, b:B, k:H>\n"
                              "    %q = add %1, %2 : f32<b:B, t:T, k:H>\n"
                              "    %score = contract %q, %key over k : f32<b:B, t:T, s:S>\n"
                              "    %a = softmax %score over s where s < %n : f32<b:B, t:T, s:S>\n"
                              "    %3 = weigh %a, %val : f32<b:B, t:T, s:S, k:H>\n"
                              "    %y = reduce sum %3 over s where s < %n : f32<b:B, t:T, k:H>\n"
                              "    %y.1 = append %y.0, %y at t : f32<b:B, i:T, k:H>\n"
                              "    yield %y.1\n"
                              "  }\n"
                              "  %r = result %s 0 : f32<b:B, i:T, k:H>\n"
                              "  output \"y\" f32 %r[b, i, k]\n"
                              "  output \"again\" f32 %r[i, k, b]\n"
                              "  output \"keys\" f32 %twice[b, s, k]\n"
                              "}\n";

/* Layers inside a step, each with its history, the steps in front of the batch. */
static const char stack[] =
    "graph @run real f64 recurrence step t {\n"
    "  dims B, T, H\n"
    "  %x = input \"x\" f64 : f64<b:B, t:T, h:H>\n"
    "  %W = param \"W\" f64 family 1 from \"W{l}\" : f64<l:3, k:H, h:H>\n"
    "  %s = scan #0 t {\n"
    "    %all.0 = history #0 0 \"all\" rows i : f64<b:B, i:T, r:3, k:H>\n"
    "    %layers = scan #1 l {\n"
    "      %z.0 = history #1 0 \"z\" rows r : f64<b:B, t:T, r:3, k:H>\n"
    "      %1 = read %z.0[b, t, l - 1, h] where 1 <= l : f64<b:B, t:T, l:3, h:H>\n"
    "      %below = select 1 <= l, %1, %x : f64<l:3, b:B, t:T, h:H>\n"
    "      %2 = read %all.0[b, t - 1, l, h] where 1 <= t : f64<b:B, t:T, l:3, h:H>\n"
    "      %3 = read %all.0[b, i, l, h] where i < t : f64<b:B, i:T, l:3, h:H, t:T>\n"
    "      %4 = reduce sum %3 over i where i < t : f64<b:B, l:3, h:H, t:T>\n"
    "      %5 = add %below, %2 : f64<l:3, b:B, t:T, h:H>\n"
    "      %6 = add %5, %4 : f64<l:3, b:B, t:T, h:H>\n"
    "      %7 = contract %W, %6 over h : f64<l:3, k:H, b:B, t:T>\n"
    "      %z = tanh %7 : f64<l:3, k:H, b:B, t:T>\n"
    "      %z.1 = append %z.0, %z at l : f64<b:B, t:T, r:3, k:H>\n"
    "      yield %z.1\n"
    "    }\n"
    "    %row = result %layers 0 : f64<b:B, t:T, r:3, k:H>\n"
    "    %all.1 = append %all.0, %row at t : f64<b:B, i:T, r:3, k:H>\n"
    "    yield %all.1\n"
    "  }\n"
    "  %r = result %s 0 : f64<b:B, i:T, r:3, k:H>\n"
    "  %top = read %r[b, {T - 1}, r, k] where 1 <= T : f64<b:B, r:3, k:H>\n"
    "  output \"all\" f64 %r[i, r, b, k]\n"
    "  output \"top\" f64 %top[r, b, k]\n"
    "}\n";

/* Histories of ints and of truth values, two and three steps back, a mask with two axes of steps,
 * a table of the beginning that is read at the step, an input that nobody reads. */
static const char windows[] = "graph @run real f32 recurrence step t {\n"
                              "  dims T, V\n"
                              "  %id = input \"id\" i64 : i64<t:T>\n"
                              "  %mask = input \"mask\" bool : bool<a:T, b:T>\n"
                              "  %bias = input \"bias\" f32 : f32<v:V>\n"
                              "  %unused = input \"unused\" f32 : f32<v:V, a:T>\n"
                              "  %E = param \"E\" f32 : f32<v:V>\n"
                              "  %place = real {T} : f32<>\n"
                              "  %1 = exp %bias : f32<v:V>\n"
                              "  %s = scan #0 t {\n"
                              "    %n.0 = history #0 0 \"n\" rows i : i64<i:T>\n"
                              "    %up.0 = history #0 1 \"up\" rows i : bool<i:T>\n"
                              "    %f.0 = history #0 2 \"f\" rows i : f32<i:T>\n"
                              "    %2 = read %n.0[t - 3] where 3 <= t : i64<t:T>\n"
                              "    %3 = read %n.0[t - 1] where 1 <= t : i64<t:T>\n"
                              "    %4 = read %up.0[t - 2] where 2 <= t : bool<t:T>\n"
                              "    %5 = select %4, %2, %3 : i64<t:T>\n"
                              "    %6 = add %5, %id : i64<t:T>\n"
                              "    %n = imod %6, V : i64<t:T>\n"
                              "    %n.1 = append %n.0, %n at t : i64<i:T>\n"
                              "    %up = lt %3, %n : bool<t:T>\n"
                              "    %up.1 = append %up.0, %up at t : bool<i:T>\n"
                              "    %7 = read %E[%n] : f32<t:T>\n"
                              "    %8 = read %1[%n] : f32<t:T>\n"
                              "    %9 = mul %7, %8 : f32<t:T>\n"
                              "    %10 = read %f.0[i] where i < t : f32<i:T, t:T>\n"
                              "    %11 = read %mask[t, i] : bool<t:T, i:T>\n"
                              "    %12 = reduce sum %10 over i where i < t and %11 : f32<t:T>\n"
                              "    %13 = add %9, %12 : f32<t:T>\n"
                              "    %f = tanh %13 : f32<t:T>\n"
                              "    %f.1 = append %f.0, %f at t : f32<i:T>\n"
                              "    yield %n.1, %up.1, %f.1\n"
                              "  }\n"
                              "  %r0 = result %s 0 : i64<i:T>\n"
                              "  %r1 = result %s 1 : bool<i:T>\n"
                              "  %r2 = result %s 2 : f32<i:T>\n"
                              "  %last = read %r0[{T - 1}] where 1 <= T : i64<>\n"
                              "  output \"n\" i32 %r0[i]\n"
                              "  output \"up\" bool %r1[i]\n"
                              "  output \"f\" f32 %r2[i]\n"
                              "  output \"last\" i64 %last[]\n"
                              "}\n";

/* Nothing goes from step to step: the rows are computed where the outputs are. */
static const char map[] = "graph @run real f32 recurrence step t {\n"
                          "  dims B, T, H\n"
                          "  %x = input \"x\" f32 : f32<b:B, t:T, h:H>\n"
                          "  %s = scan #0 t {\n"
                          "    %y.0 = history #0 0 \"y\" rows i : f32<b:B, i:T, h:H>\n"
                          "    %p.0 = history #0 1 \"p\" rows i : f32<b:B, i:T, h:H>\n"
                          "    %y = exp %x : f32<b:B, t:T, h:H>\n"
                          "    %y.1 = append %y.0, %y at t : f32<b:B, i:T, h:H>\n"
                          "    %p = softmax %x over h : f32<b:B, t:T, h:H>\n"
                          "    %p.1 = append %p.0, %p at t : f32<b:B, i:T, h:H>\n"
                          "    yield %y.1, %p.1\n"
                          "  }\n"
                          "  %r = result %s 0 : f32<b:B, i:T, h:H>\n"
                          "  %q = result %s 1 : f32<b:B, i:T, h:H>\n"
                          "  output \"y\" f32 %r[b, i, h]\n"
                          "  output \"p\" f32 %q[h, b, i]\n"
                          "}\n";

START_TEST(equals_the_whole_sequence)
{
    check_steps(rnn, "B=2 T=7 E=3 H=4", 0);
    check_steps(self_attention, "B=2 T=6 E=3 H=5", 0);
    check_steps(decoder, "B=2 T=5 S=4 H=3", 5);
    check_steps(stack, "B=2 T=5 H=3", 0);
    check_steps(windows, "T=9 V=5", 7);
    check_steps(map, "B=2 T=5 H=3", 0);
}
END_TEST

START_TEST(edges)
{
    check_steps(rnn, "B=1 T=1 E=1 H=1", 0);
    check_steps(rnn, "B=0 T=3 E=2 H=2", 0);
    check_steps(rnn, "B=2 T=3 E=0 H=2", 0);
    check_steps(rnn, "B=2 T=0 E=2 H=2", 0);
    check_steps(self_attention, "B=1 T=1 E=1 H=1", 0);
    check_steps(decoder, "B=2 T=3 S=0 H=2", 1);
    check_steps(windows, "T=1 V=1", 1);
    check_steps(map, "B=1 T=0 H=3", 0);
}
END_TEST

/* What is kept: one step back takes two rows, all steps take all, the present one alone none. */
static void check_state(const char *text, const char *expected)
{
    step_test t;
    step_begin(&t, text, "B=1 T=8 E=1 H=1 S=1 V=1", 1, STEP_SIMPLIFIED);
    strbuf got = {.a = t.a};
    for (size_t i = 0; i < t.k->stepper->bufs.n; i++) {
        const kbuf *b = t.k->stepper->bufs.v[i];
        if (b->role != KB_STATE)
            continue;
        sb_printf(&got, "%s%s[", got.n ? " " : "", b->name);
        for (uint32_t k = 0; k < b->rank; k++)
            sb_printf(&got, "%s%s", k ? "," : "", dim_text(t.a, b->shape[k]));
        sb_puts(&got, "]");
    }
    ck_assert_str_eq(sb_text(&got), expected);
    step_end(&t);
}

START_TEST(state_is_small)
{
    check_state(rnn, "h_0[B,2,H] read[B,H]");
    check_state(self_attention, "h_0[B,T,H] c_0[B,2,H]");
    check_state(decoder, "y_0[B,2,H] n1[B] key[B,S,H] val[H,B,S]");
    check_state(windows, "n_0[4] up_0[3] f_0[T] exp1[V]");
    check_state(map, "");
}
END_TEST

START_TEST(statuses)
{
    step_test t;
    step_run r;
    step_begin(&t, rnn, "B=1 T=3 E=2 H=2", 0, STEP_ABSENT);
    run_begin(&r, &t);
    const void *in[1] = {t.inputs[0].data}, *none[1] = {NULL}, *params[2], *h0[1] = {NULL};
    float h[2], last[2];
    void *out[2] = {h, last}, *overlap[2] = {h, h};
    params[0] = t.params[0].data;
    params[1] = t.params[1].data;
    ck_assert_uint_eq(t.e.state(NULL), SIZE_MAX);
    ck_assert_int_eq(t.e.begin(NULL, params, NULL, h0, r.state, r.workspace, NULL), ATTN_NULL);
    ck_assert_int_eq(t.e.begin(t.dims, NULL, NULL, h0, r.state, r.workspace, NULL), ATTN_NULL);
    ck_assert_int_eq(t.e.begin(t.dims, params, NULL, NULL, r.state, r.workspace, NULL), ATTN_NULL);
    ck_assert_int_eq(t.e.begin(t.dims, params, NULL, h0, NULL, r.workspace, NULL), ATTN_NULL);
    ck_assert_int_eq(t.e.begin(t.dims, params, NULL, h0, r.state, NULL, NULL), ATTN_NULL);
    ck_assert_int_eq(t.e.begin(t.dims, params, NULL, h0, r.state + 8, r.workspace, NULL),
                     ATTN_ALIGN);
    t.dims[1] = -1;
    ck_assert_uint_eq(t.e.state(t.dims), SIZE_MAX);
    ck_assert_int_eq(t.e.begin(t.dims, params, NULL, h0, r.state, r.workspace, NULL), ATTN_DIM);
    t.dims[1] = 3;

    char *before = malloc(r.state_bytes);
    memcpy(before, r.state, r.state_bytes);
    ck_assert_int_eq(t.e.step(NULL, 1, in, out, r.workspace, NULL), ATTN_NULL);
    ck_assert_int_eq(t.e.step(r.state + 8, 1, in, out, r.workspace, NULL), ATTN_ALIGN);
    ck_assert_int_eq(t.e.step(r.state, -1, in, out, r.workspace, NULL), ATTN_DIM);
    ck_assert_int_eq(t.e.step(r.state, 4, in, out, r.workspace, NULL), ATTN_CAPACITY);
    ck_assert_int_eq(t.e.step(r.state, 0, NULL, NULL, NULL, NULL), ATTN_OK);
    ck_assert_int_eq(t.e.step(r.state, 1, NULL, out, r.workspace, NULL), ATTN_NULL);
    ck_assert_int_eq(t.e.step(r.state, 1, in, NULL, r.workspace, NULL), ATTN_NULL);
    ck_assert_int_eq(t.e.step(r.state, 1, none, out, r.workspace, NULL), ATTN_NULL);
    ck_assert_int_eq(t.e.step(r.state, 1, in, overlap, r.workspace, NULL), ATTN_ALIAS);
    ck_assert_int_eq(t.e.step(r.state, 1, in, out, NULL, NULL), ATTN_NULL);
    ck_assert_int_eq(run_rows(&r, 3), ATTN_OK); /* none of them did any harm */
    run_check(&r);
    free(before);
    run_end(&r);
    step_end(&t);
}
END_TEST

START_TEST(record)
{
    step_test t;
    step_begin(&t, decoder, "B=1 T=3 S=2 H=2", 1, 0);
    const attn_model_info *i = t.e.info;
    ck_assert_ptr_nonnull(i->capacity);
    ck_assert_str_eq(i->capacity->text, "T");
    ck_assert_int_eq(i->tensors[0].flags, ATTN_STEP);
    ck_assert_int_eq(i->tensors[0].step_axis, 0);
    ck_assert_int_eq(i->tensors[1].flags, ATTN_BEGIN);
    ck_assert_int_eq(i->tensors[1].step_axis, -1);
    ck_assert_int_eq(i->tensors[2].flags, ATTN_BEGIN | ATTN_OPTIONAL);
    ck_assert_int_eq(i->tensors[3].flags, 0); /* a parameter */
    ck_assert_int_eq(i->tensors[5].flags, ATTN_STEP);
    ck_assert_int_eq(i->tensors[5].step_axis, 1);
    ck_assert_int_eq(i->tensors[7].step_axis, -1);
    const attn_model_info *same = backend_info(t.a, t.k);
    for (int64_t k = 0; k < i->n_tensors; k++) {
        ck_assert_int_eq(same->tensors[k].flags, i->tensors[k].flags);
        ck_assert_int_eq(same->tensors[k].step_axis, i->tensors[k].step_axis);
    }
    step_end(&t);
}
END_TEST

/* Two sequences take turns; each state is moved in between. */
START_TEST(two_states)
{
    step_test t, other;
    step_run a, b;
    step_begin(&t, self_attention, "B=2 T=6 E=3 H=4", 0, STEP_SIMPLIFIED);
    other = t;
    step_inputs(&other, 77);
    memcpy(other.params, t.params, sizeof t.params); /* the same model, other inputs */
    memcpy(other.par, t.par, sizeof t.par);
    const char *message = NULL;
    ck_assert_int_eq(interp_run(t.a, t.g, t.dims, other.in, other.par, other.want, &message), 0);
    run_begin(&a, &t);
    run_begin(&b, &other);
    for (int i = 0; i < 6; i++) {
        ck_assert_int_eq(run_rows(&a, 1), ATTN_OK);
        if (i % 2)
            ck_assert_int_eq(run_rows(&b, 2), ATTN_OK);
        char *moved = aligned_alloc(64, (a.state_bytes + 64 + 63) / 64 * 64);
        memcpy(moved, a.state, a.state_bytes + 64);
        free(a.state);
        a.state = moved;
    }
    run_check(&a);
    run_check(&b);
    run_end(&a);
    run_end(&b);
    step_end(&t);
}
END_TEST

static void *run_through(void *arg)
{
    for (int n = 0; n < 20; n++) {
        step_run r;
        run_begin(&r, arg);
        while (r.at < r.t->steps && run_rows(&r, 1) == ATTN_OK)
            continue;
        run_check(&r);
        run_end(&r);
    }
    return NULL;
}

START_TEST(two_threads)
{
    step_test t;
    pthread_t threads[2];
    step_begin(&t, self_attention, "B=2 T=12 E=3 H=4", 0, STEP_SIMPLIFIED);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, run_through, &t), 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    step_end(&t);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("schedule_step");
    TCase *c = tcase_create("step");
    tcase_set_timeout(c, 300);
    tcase_add_test(c, equals_the_whole_sequence);
    tcase_add_test(c, edges);
    tcase_add_test(c, state_is_small);
    tcase_add_test(c, statuses);
    tcase_add_test(c, record);
    tcase_add_test(c, two_states);
    tcase_add_test(c, two_threads);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed > 0;
}
