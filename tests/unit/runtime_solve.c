/*
 * runtime_solve.c - dims from shapes: what is found, and each message word for word.
 */
#include "runtime/solve.h"
#include "runtime_support.h"

#include <stdarg.h>

/* Dims of the example: E T N K H. */
enum { E, T, N, K, H };
static const char *const dim_names[] = {"E", "T", "N", "K", "H"};

#define DIM(d)                                                                                     \
    {                                                                                              \
        2, (const int64_t[]){ATTN_OP_DIM, d}, #d                                                   \
    }
#define BIN(op, a, b, text)                                                                        \
    {                                                                                              \
        5, (const int64_t[]){ATTN_OP_DIM, a, ATTN_OP_DIM, b, op}, text                             \
    }
#define TIMES(c, d, text)                                                                          \
    {                                                                                              \
        5, (const int64_t[]){ATTN_OP_CONST, c, ATTN_OP_DIM, d, ATTN_OP_MUL}, text                  \
    }

static const attn_extent shape_te[] = {DIM(T), DIM(E)};
static const attn_extent shape_nk_e[] = {BIN(ATTN_OP_MUL, N, K, "N * K"), DIM(E)};
static const attn_extent shape_2h[] = {TIMES(2, H, "2 * H")};
static const attn_extent shape_eh[] = {DIM(H), BIN(ATTN_OP_ADD, E, H, "E + H")};
static const attn_extent shape_exact[] = {BIN(ATTN_OP_EXACT, E, N, "E / N")};
static const attn_extent shape_minus[] = {BIN(ATTN_OP_SUB, T, E, "T - E")};

enum { X, W, B, A, Q, LEN, OUT, N_TENSORS };

/* A model with the tensors a test needs; the others are optional and not given. */
static attn_status solve(int64_t *dims, attn_problems *problems, const attn_fact *facts,
                         unsigned required, int64_t n_checks, const attn_check_info *checks)
{
    attn_tensor_info t[N_TENSORS] = {
        [X] = {.name = "x", .role = ATTN_INPUT, .rank = 2, .shape = shape_te},
        [W] = {.name = "W", .role = ATTN_PARAM, .rank = 2, .shape = shape_nk_e, .source = "w.0"},
        [B] = {.name = "b", .role = ATTN_PARAM, .rank = 1, .shape = shape_2h},
        [A] = {.name = "A", .role = ATTN_PARAM, .rank = 2, .shape = shape_eh},
        [Q] = {.name = "q", .role = ATTN_INPUT, .rank = 1, .shape = shape_exact},
        [LEN] = {.name = "n", .role = ATTN_INPUT, .dtype = ATTN_I64, .rank = 0},
        [OUT] = {.name = "y", .role = ATTN_OUTPUT, .rank = 1, .shape = shape_minus},
    };
    for (int i = 0; i < N_TENSORS; i++)
        if (!(required & 1u << i))
            t[i].flags = ATTN_OPTIONAL;
    if (!(required & 1u << OUT))
        t[OUT].shape = shape_te;
    attn_model_info info = {.abi_version = ATTN_ABI_VERSION,
                            .name = "m",
                            .n_dims = 5,
                            .dim_names = dim_names,
                            .n_tensors = N_TENSORS,
                            .tensors = t,
                            .n_checks = n_checks,
                            .checks = checks};
    if (!(required & 1u << Q)) /* its axis would have to be defined at the end */
        t[Q].shape = shape_te;
    return attn_solve(&info, facts, dims, problems);
}

#define UNKNOWN ATTN_DIM_UNKNOWN
#define FACT(...)                                                                                  \
    {                                                                                              \
        true, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (const int64_t[])                \
        {                                                                                          \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }

static void expect(const int64_t *given, const attn_fact *facts, unsigned required,
                   int64_t n_checks, const attn_check_info *checks, const int64_t *found,
                   const char *message)
{
    long calls = 1;
    for (long at = 0; at <= calls; at++) {
        torture plan = {.fail_at = at};
        attn_allocator alloc = torture_allocator(&plan);
        attn_problems problems;
        int64_t dims[5];
        memcpy(dims, given, sizeof dims);
        attn_problems_init(&problems, &alloc);
        attn_status status = solve(dims, &problems, facts, required, n_checks, checks);
        if (at == 0) {
            ck_assert_str_eq(attn_text_cstr(&problems.text), message ? message : "");
            ck_assert_int_eq(status, message ? ATTN_DIM : ATTN_OK);
            for (int d = 0; found && d < 5; d++)
                ck_assert_int_eq(dims[d], found[d]);
            calls = plan.calls;
        } else {
            ck_assert_int_eq(status, ATTN_NOMEM);
        }
        attn_problems_free(&problems);
        ck_assert_uint_eq(plan.live, 0);
    }
}

static const int64_t none[5] = {UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN};

START_TEST(found)
{
    const attn_fact f[N_TENSORS] = {[X] = FACT(3, 8), [W] = FACT(8, 8), [B] = FACT(10)};
    const int64_t given[5] = {UNKNOWN, UNKNOWN, 2, UNKNOWN, UNKNOWN};
    expect(given, f, 1 << X | 1 << W | 1 << B, 0, NULL, (const int64_t[]){8, 3, 2, 4, 5}, NULL);
    /* E + H gives E although no axis is plainly E. */
    const attn_fact g[N_TENSORS] = {[A] = FACT(5, 13)};
    const int64_t most[5] = {UNKNOWN, 1, 2, 3, UNKNOWN};
    expect(most, g, 1 << A, 0, NULL, (const int64_t[]){8, 1, 2, 3, 5}, NULL);
    /* Exact division: q has E / N = 4 entries. A length of shape [1] is a rank-0 tensor. */
    const attn_fact h[N_TENSORS] = {[Q] = FACT(4), [LEN] = FACT(1)};
    const int64_t exact[5] = {UNKNOWN, 1, 2, 3, 4};
    expect(exact, h, 1 << Q | 1 << LEN, 0, NULL, (const int64_t[]){8, 1, 2, 3, 4}, NULL);
    /* Rank 0 for an axis of 1. */
    const attn_fact k[N_TENSORS] = {[Q] = {true, 0, NULL}};
    expect(exact, k, 1 << Q, 0, NULL, (const int64_t[]){2, 1, 2, 3, 4}, NULL);
}
END_TEST

START_TEST(contradictions)
{
    const int64_t given[5] = {UNKNOWN, UNKNOWN, 2, UNKNOWN, 5};
    const attn_fact f[N_TENSORS] = {[X] = FACT(3, 4), [W] = FACT(8, 5)};
    expect(given, f, 0, 0, NULL, NULL, "axis 1 of param W is 5 but axis 1 of input x says E = 4");
    const attn_fact g[N_TENSORS] = {[X] = FACT(3, 4), [A] = FACT(6, 11), [W] = FACT(8, 4)};
    expect(given, g, 0, 0, NULL, NULL,
           "axis 0 of param A is 6 but H = 5 as given\n"
           "axis 1 of param A is 11 but E + H = 9, with E = 4 (axis 1 of input x), "
           "H = 5 (as given)");
    const int64_t odd[5] = {UNKNOWN, UNKNOWN, 3, UNKNOWN, UNKNOWN};
    const attn_fact h[N_TENSORS] = {[X] = FACT(3, 4), [W] = FACT(8, 4), [B] = FACT(7)};
    expect(odd, h, 0, 0, NULL, NULL,
           "axis 0 of param W is 8, but no K makes N * K = 8, with N = 3 (as given)\n"
           "axis 0 of param b is 7, but no H makes 2 * H = 7");
}
END_TEST

START_TEST(unsolved)
{
    const attn_fact f[N_TENSORS] = {[X] = FACT(3, 4), [W] = FACT(768, 4)};
    expect(none, f, 0, 0, NULL, NULL,
           "dim N cannot be found from the shapes: only N * K = 768 (axis 0 of param W) is known; "
           "give -D N=...\n"
           "dim H cannot be found from the shapes: no tensor at hand has it; give -D H=...");
    const int64_t negative[5] = {4, -3, 1, 1, 1};
    const attn_fact nothing[N_TENSORS] = {0};
    expect(negative, nothing, 0, 0, NULL, NULL, "dim T is -3, but a dimension is at least 0");
}
END_TEST

START_TEST(missing_and_rank)
{
    const int64_t given[5] = {UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, 2};
    const attn_fact f[N_TENSORS] = {[X] = FACT(1, 3, 4)};
    expect(given, f, 1 << X | 1 << W, 0, NULL, NULL,
           "input x has shape [1, 3, 4], 3 axes, but [T, E] has 2\n"
           "param W is missing: expected f32[N * K, E] under the name 'w.0'");
    const attn_fact g[N_TENSORS] = {[LEN] = FACT(2)};
    const int64_t all[5] = {1, 1, 1, 1, 1};
    expect(all, g, 0, 0, NULL, NULL, "input n has shape [2], 1 axis, but [] has 0");
}
END_TEST

START_TEST(checks)
{
    const attn_check_info le = {
        .lhs = DIM(T), .rhs = DIM(K), .relation = ATTN_LE, .message = "wpe[t] (line 3)"};
    const attn_check_info eq = {.lhs = DIM(E),
                                .rhs = BIN(ATTN_OP_MUL, N, K, "N * K"),
                                .relation = ATTN_EQ,
                                .message = "x and W (line 4)"};
    const int64_t given[5] = {UNKNOWN, UNKNOWN, 2, UNKNOWN, 1};
    const attn_fact f[N_TENSORS] = {[X] = FACT(9, 8)};
    /* The equation finds K = 4, then the other condition is broken. */
    const attn_check_info both[] = {le, eq};
    expect(given, f, 0, 2, both, NULL,
           "wpe[t] (line 3): T <= K is required, found 9 and 4, with T = 9 (axis 0 of input x), "
           "K = 4 (from E = N * K)");
    const int64_t all[5] = {7, 1, 2, 3, 1};
    expect(all, (const attn_fact[N_TENSORS]){0}, 0, 1, &eq, NULL,
           "x and W (line 4): E = N * K is required, found 7 and 6, with E = 7 (as given), "
           "N = 2 (as given), K = 3 (as given)");
}
END_TEST

START_TEST(ranges)
{
    const attn_fact nothing[N_TENSORS] = {0};
    const int64_t small[5] = {8, 3, 1, 1, 1};
    expect(small, nothing, 1 << OUT, 0, NULL, NULL,
           "axis 0 of output y would be T - E = -5, a negative size, with E = 8 (as given), "
           "T = 3 (as given)");
    const int64_t huge[5] = {1, 2, (int64_t)1 << 40, (int64_t)1 << 40, 1};
    expect(huge, nothing, 0, 0, NULL, NULL,
           "axis 0 of param W: N * K overflows 64 bits, with N = 1099511627776 (as given), "
           "K = 1099511627776 (as given)");
    const int64_t wide[5] = {(int64_t)1 << 31, (int64_t)1 << 31, 1, 1, 1};
    attn_allocator libc = attn_allocator_libc();
    attn_problems problems;
    int64_t dims[5];
    memcpy(dims, wide, sizeof dims);
    attn_problems_init(&problems, &libc);
    ck_assert_int_eq(solve(dims, &problems, nothing, 0, 0, NULL), ATTN_DIM);
    ck_assert_int_eq(problems.item[0].kind, ATTN_PROBLEM_RANGE);
    ck_assert_int_eq(problems.item[0].tensor, X);
    ck_assert_ptr_nonnull(strstr(attn_text_cstr(&problems.text), "input x is too large: [2147"));
    attn_problems_free(&problems);
}
END_TEST

RUN_TESTS("runtime_solve", found, contradictions, unsolved, missing_and_rank, checks, ranges)
