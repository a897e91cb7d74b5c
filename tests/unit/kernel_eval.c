/* kernel_eval.c: see kernel_eval.h. It shares no code with the backend, so that the two can be
 * compared. */
#include "tests/unit/kernel_eval.h"

#include <math.h>

typedef struct val {
    double f;
    int64_t i;
} val;

typedef struct machine {
    arena *a;
    const kernel *k;
    const int64_t *symbols; /* by dims-table symbol */
    eval_buf *bufs;
    int64_t **shape;
    val *vars;
    eval_result r;
} machine;

enum { MAX_STEPS = 20000000 };

static void fault(machine *m, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void fault(machine *m, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    if (!m->r.fault)
        m->r.fault = arena_vprintf(m->a, fmt, ap);
    va_end(ap);
}

static double round_bits(double x, int bits, int least)
{
    int e;
    if (!isfinite(x) || x == 0)
        return x;
    frexp(x, &e);
    int ulp = e - bits < least ? least : e - bits;
    return ldexp(nearbyint(ldexp(x, -ulp)), ulp);
}

double eval_round(store_type st, double x)
{
    double y;
    switch (st) {
    case ST_F32:
        return (double)(float)x;
    case ST_F16:
        y = round_bits(x, 11, -24);
        return fabs(y) > 65504 ? copysign((double)INFINITY, x) : y;
    case ST_BF16:
        return (double)(float)round_bits(x, 8, -133);
    default:
        return x;
    }
}

static val eval(machine *m, const kexpr *e);

static double rounded(const machine *m, double x)
{
    return m->k->real == DT_F32 ? (double)(float)x : x;
}

static double real_op(machine *m, op_id op, double a, double b)
{
    switch (op) {
    case OP_neg:
        return -a;
    case OP_add:
        return a + b;
    case OP_sub:
        return a - b;
    case OP_mul:
        return a * b;
    case OP_abs:
        return fabs(a);
    case OP_sign:
        return isnan(a) ? a : (a > 0) - (a < 0);
    case OP_max:
        return isnan(a) || isnan(b) ? (double)NAN : a > b ? a : b;
    case OP_min:
        return isnan(a) || isnan(b) ? (double)NAN : a < b ? a : b;
    case OP_div:
        return a / b;
    case OP_pow:
        return pow(a, b);
    case OP_sqrt:
        return sqrt(a);
    case OP_exp:
        return exp(a);
    case OP_exp2:
        return exp2(a);
    case OP_log:
        return log(a);
    case OP_log1p:
        return log1p(a);
    case OP_expm1:
        return expm1(a);
    case OP_tanh:
        return tanh(a);
    case OP_sigmoid:
        return 1 / (1 + exp(-a));
    case OP_erf:
        return erf(a);
    case OP_sin:
        return sin(a);
    case OP_cos:
        return cos(a);
    case OP_weigh:
        return a == 0 ? 0 : a * b;
    default:
        fault(m, "%s is no operation on reals", op_table[op].text);
        return 0;
    }
}

static int64_t floor_div(int64_t a, int64_t b)
{
    int64_t q = a / b;
    return q - (a % b != 0 && (a < 0) != (b < 0));
}

static int64_t int_op(machine *m, op_id op, int64_t a, int64_t b)
{
    uint64_t x = (uint64_t)a, y = (uint64_t)b;
    switch (op) {
    case OP_neg:
        return (int64_t)(0 - x);
    case OP_add:
        return (int64_t)(x + y);
    case OP_sub:
        return (int64_t)(x - y);
    case OP_mul:
        return (int64_t)(x * y);
    case OP_abs:
        return a < 0 ? (int64_t)(0 - x) : a;
    case OP_sign:
        return (a > 0) - (a < 0);
    case OP_max:
        return a > b ? a : b;
    case OP_min:
        return a < b ? a : b;
    case OP_bitand:
        return a & b;
    case OP_idiv:
    case OP_imod:
        if (b == 0 || (a == INT64_MIN && b == -1)) {
            fault(m, "%s of %lld by %lld", op_table[op].text, (long long)a, (long long)b);
            return 0;
        }
        return op == OP_idiv                        ? floor_div(a, b)
               : (a % b != 0 && (a < 0) != (b < 0)) ? a % b + b
                                                    : a % b;
    default:
        fault(m, "%s is no operation on ints", op_table[op].text);
        return 0;
    }
}

static bool overflows(op_id op, int64_t a, int64_t b)
{
    int64_t z;
    switch (op) {
    case OP_add:
        return __builtin_add_overflow(a, b, &z);
    case OP_sub:
        return __builtin_sub_overflow(a, b, &z);
    case OP_mul:
        return __builtin_mul_overflow(a, b, &z);
    default:
        return a == INT64_MIN;
    }
}

static bool compare(op_id op, bool less, bool equal, bool ordered)
{
    switch (op) {
    case OP_eq:
        return equal;
    case OP_ne:
        return !equal;
    case OP_lt:
        return less;
    default:
        return ordered && (less || equal);
    }
}

static bool is_real(dtype dt)
{
    return dt == DT_F32 || dt == DT_F64;
}

static int64_t to_int(machine *m, op_id op, double x)
{
    double y = op == OP_floor ? floor(x) : op == OP_ceil ? ceil(x) : nearbyint(x);
    if (!(y >= -9223372036854775808.0 && y < 9223372036854775808.0)) {
        fault(m, "%s of %g", op_table[op].text, x);
        return 0;
    }
    return (int64_t)y;
}

static val eval_op(machine *m, const kexpr *e)
{
    val a = eval(m, e->args[0]), b = {0}, c = {0};
    if (e->n_args > 1)
        b = eval(m, e->args[1]);
    if (e->n_args > 2)
        c = eval(m, e->args[2]);
    bool real = is_real(e->args[0]->dt);
    switch (e->op) {
    case OP_select:
        return a.i ? b : c;
    case OP_and:
        return (val){.i = a.i && b.i};
    case OP_or:
        return (val){.i = a.i || b.i};
    case OP_not:
        return (val){.i = !a.i};
    case OP_real:
        return (val){.f = rounded(m, (double)a.i)};
    case OP_floor:
    case OP_ceil:
    case OP_round:
        return (val){.i = to_int(m, e->op, a.f)};
    case OP_eq:
    case OP_ne:
    case OP_lt:
    case OP_le:
        if (real)
            return (val){.i = compare(e->op, a.f < b.f, a.f == b.f, !isnan(a.f) && !isnan(b.f))};
        return (val){.i = compare(e->op, a.i < b.i, a.i == b.i, true)};
    default:
        break;
    }
    if (real)
        return (val){.f = rounded(m, real_op(m, e->op, a.f, b.f))};
    return (val){.i = int_op(m, e->op, a.i, b.i)};
}

/* The position of the element, or -1 after a fault. */
static int64_t locate(machine *m, const kbuf *b, const kexpr *const *index)
{
    int64_t at = 0;
    for (uint32_t k = 0; k < b->rank; k++) {
        int64_t i = eval(m, index[k]).i;
        if (i < 0 || i >= m->shape[b->id][k]) {
            fault(m, "%s is indexed by %lld on axis %u, which has %lld", b->name, (long long)i, k,
                  (long long)m->shape[b->id][k]);
            return -1;
        }
        at = at * m->shape[b->id][k] + i;
    }
    return at;
}

static val eval_load(machine *m, const kexpr *e)
{
    const eval_buf *b = &m->bufs[e->buf->id];
    int64_t at = locate(m, e->buf, e->args);
    if (at >= 0 && b->absent)
        fault(m, "%s is loaded and was not given", e->buf->name);
    else if (at >= 0 && b->written && !b->written[at])
        fault(m, "element %lld of %s is loaded before it is written", (long long)at, e->buf->name);
    else if (at >= 0 && b->poison && b->poison[at])
        fault(m, "element %lld of %s is excluded and loaded", (long long)at, e->buf->name);
    if (m->r.fault)
        return (val){0};
    return b->f ? (val){.f = rounded(m, b->f[at])} : (val){.i = b->i[at]};
}

static val eval(machine *m, const kexpr *e)
{
    val x = {0};
    if (m->r.fault)
        return x;
    switch (e->kind) {
    case KX_CONST:
        return (val){.f = rounded(m, e->f), .i = e->i};
    case KX_DIM:
        if (!dim_eval(e->dim, m->symbols, &x.i))
            fault(m, "the dim %s has no value", dim_text(m->a, e->dim));
        return x;
    case KX_VAR:
        return m->vars[e->var->id];
    case KX_LOAD:
        return eval_load(m, e);
    case KX_GIVEN:
        return (val){.i = !m->bufs[e->buf->id].absent};
    case KX_OP:
        return eval_op(m, e);
    case KX_OVERFLOW:
        return (val){.i = overflows(e->op, eval(m, e->args[0]).i,
                                    e->n_args > 1 ? eval(m, e->args[1]).i : 0)};
    }
    return x;
}

static void store(machine *m, const kstmt *s)
{
    val x = eval(m, s->e);
    int64_t at = locate(m, s->buf, s->index);
    eval_buf *b = &m->bufs[s->buf->id];
    if (m->r.fault)
        return;
    if (!b->written) {
        fault(m, "%s is stored to", s->buf->name);
        return;
    }
    b->written[at] = true;
    if (b->f)
        b->f[at] = eval_round(s->buf->store, x.f);
    else
        b->i[at] = x.i;
}

static void run(machine *m, const kblock *b);

static void run_for(machine *m, const kstmt *s)
{
    int64_t lo = eval(m, s->lo).i, hi = eval(m, s->hi).i;
    if (lo >= hi)
        return;
    int64_t n = (hi - lo + s->step - 1) / s->step;
    for (int64_t i = 0; i < n && !m->r.fault; i++) {
        m->vars[s->var->id].i = lo + (s->down ? n - 1 - i : i) * s->step;
        run(m, &s->body);
    }
}

static void run(machine *m, const kblock *b)
{
    for (size_t i = 0; i < b->s.n && !m->r.fault; i++) {
        const kstmt *s = b->s.v[i];
        if (++m->r.steps > MAX_STEPS) {
            fault(m, "the kernel runs too long for a test");
            return;
        }
        switch (s->kind) {
        case KS_FOR:
            run_for(m, s);
            break;
        case KS_LET:
        case KS_VAR:
        case KS_SET:
            m->vars[s->var->id] = eval(m, s->e);
            break;
        case KS_STORE:
            store(m, s);
            break;
        case KS_IF:
            run(m, eval(m, s->e).i ? &s->body : &s->other);
            break;
        case KS_CHECK:
            if (!eval(m, s->e).i && !m->r.fault && !m->r.status)
                m->r.status = s->status;
            break;
        }
    }
}

static size_t n_elements(machine *m, size_t i)
{
    const kbuf *b = m->k->bufs.v[i];
    size_t n = 1;
    m->shape[i] = ARENA_ARRAY(m->a, int64_t, b->rank);
    for (uint32_t j = 0; j < b->rank; j++) {
        if (!dim_eval(b->shape[j], m->symbols, &m->shape[i][j]) || m->shape[i][j] < 0)
            fault(m, "buffer %s has no shape", b->name);
        n *= (size_t)m->shape[i][j];
    }
    return n;
}

/* Checks what the caller filled and makes buffers of the roles in `made` (a set of bits). */
static machine machine_new(arena *a, const kernel *k, const int64_t *symbols, eval_buf *bufs,
                           unsigned made)
{
    machine m = {.a = a, .k = k, .symbols = symbols, .bufs = bufs};
    m.shape = ARENA_ARRAY(a, int64_t *, k->bufs.n);
    m.vars = ARENA_ARRAY(a, val, k->vars.n);
    for (size_t i = 0; i < k->bufs.n; i++) {
        const kbuf *b = k->bufs.v[i];
        size_t n = n_elements(&m, i);
        bool given = b->role == KB_PARAM ||
                     (b->role == KB_INPUT && (bufs[i].n || bufs[i].absent || !k->rows));
        if (given && bufs[i].n != n && !bufs[i].absent)
            fault(&m, "buffer %s has %zu elements, not %zu", b->name, bufs[i].n, n);
        if (given || !(made >> b->role & 1))
            continue;
        bufs[i] = (eval_buf){.n = n, .written = ARENA_ARRAY(a, bool, n)};
        if (is_real(store_table[b->store].value))
            bufs[i].f = ARENA_ARRAY(a, double, n);
        else
            bufs[i].i = ARENA_ARRAY(a, int64_t, n);
    }
    return m;
}

static void check_outputs(machine *m)
{
    const kernel *k = m->k;
    for (size_t i = 0; i < k->bufs.n && !m->r.status; i++) {
        for (size_t j = 0; k->bufs.v[i]->role == KB_OUTPUT && j < m->bufs[i].n; j++) {
            if (!m->bufs[i].written[j])
                fault(m, "element %zu of output %s is never written", j, k->bufs.v[i]->name);
        }
    }
}

enum {
    OUTPUTS = 1u << KB_OUTPUT,
    STATES = 1u << KB_STATE,
    TEMPS = 1u << KB_PREPARED | 1u << KB_TEMP | 1u << KB_LOCAL | 1u << KB_REG
};

eval_result kernel_eval(arena *a, const kernel *k, const int64_t *symbols, eval_buf *bufs)
{
    machine m = machine_new(a, k, symbols, bufs, OUTPUTS | TEMPS);
    run(&m, &k->prepare);
    run(&m, &k->body);
    check_outputs(&m);
    return m.r;
}

eval_result kernel_eval_begin(arena *a, const kernel *k, const int64_t *symbols, eval_buf *bufs)
{
    machine m = machine_new(a, k, symbols, bufs, STATES | TEMPS);
    run(&m, &k->prepare);
    run(&m, &k->body);
    return m.r;
}

eval_result kernel_eval_step(arena *a, const kernel *k, const int64_t *symbols, eval_buf *bufs,
                             int64_t pos)
{
    machine m = machine_new(a, k, symbols, bufs, OUTPUTS | TEMPS);
    m.vars[k->pos->id].i = pos;
    run(&m, &k->prepare);
    run(&m, &k->step);
    check_outputs(&m);
    return m.r;
}
