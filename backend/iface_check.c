/* iface_check.c: whether kernels can have a C interface: names that do not clash, families that are
 * known. These are the program's faults, not the compiler's, so they are reported before any code
 * is made. */
#include "backend/iface.h"

#include <string.h>

typedef struct taken {
    const char *name; /* in C */
    const char *what; /* whose, for the message */
} taken;

typedef struct names {
    arena *a;
    diags *ds;
    VEC(taken) v;
} names;

static void take(names *t, const char *name, const char *what, const char *where)
{
    for (size_t i = 0; i < t->v.n; i++) {
        if (strcmp(t->v.v[i].name, name) != 0)
            continue;
        diag *d = diag_error(t->ds, (span){0}, "%s and %s are both called %s in %s", t->v.v[i].what,
                             what, name, where);
        diag_help(d, "rename one of them");
        return;
    }
    vec_push(t->a, &t->v, ((taken){name, what}));
}

/* The last ones are those of a step kernel. */
static void check_symbols(arena *a, kernel *const *kernels, size_t n, diags *ds)
{
    static const char *const suffixes[] = {
        "",       "_workspace", "_prepared",     "_prepare",     "_info",
        "_dims",  "_params",    "_inputs",       "_outputs",     "_state",
        "_begin", "_step",      "_begin_inputs", "_step_inputs", "_step_outputs"};
    enum { ALL = sizeof suffixes / sizeof suffixes[0], OF_STEPS = 6 };
    names t = {.a = a, .ds = ds};
    for (size_t i = 0; i < n; i++) {
        const char *symbol = c_symbol(a, kernels[i]->name);
        for (size_t j = 0; j < (kernels[i]->stepper ? ALL : ALL - OF_STEPS); j++)
            take(&t, arena_printf(a, "%s%s", symbol, suffixes[j]),
                 arena_printf(a, "model %s", kernels[i]->name), "C");
    }
}

static void check_extent(arena *a, const kernel *k, const dim *d, const char *what, diags *ds)
{
    int64_t depth;
    iface_extent(a, k, d, &depth);
    if (depth > ATTN_EXTENT_STACK)
        diag_error(ds, (span){0}, "model %s: %s is nested too deeply (%lld levels, at most %d)",
                   k->name, what, (long long)depth, ATTN_EXTENT_STACK);
}

static const char *user_name(const kbuf *b)
{
    return b->label ? b->label : b->name;
}

static void check_buf(arena *a, const kernel *k, const kbuf *b, diags *ds)
{
    for (uint32_t i = 0; i < b->rank; i++)
        check_extent(a, k, b->shape[i], arena_printf(a, "the size of %s", user_name(b)), ds);
    if (b->n_family > 0 && iface_family(b) < 0) {
        diag *d = diag_error(ds, (span){0},
                             "model %s: the number of tensors in the family %s is not known, or "
                             "above %lld",
                             k->name, user_name(b), (long long)IFACE_MAX_POINTERS);
        diag_help(d, "fix the size of the family's axes when compiling, e.g. `-D L=12`");
    }
}

static void check_kernel(arena *a, const kernel *k, diags *ds)
{
    const char *symbol = c_symbol(a, k->name);
    names sizes = {.a = a, .ds = ds}, members[3];
    for (int r = 0; r < 3; r++)
        members[r] = (names){.a = a, .ds = ds};
    const char *in = arena_printf(a, "%s_dims", symbol);
    for (size_t i = 0; i < k->symbols.n; i++)
        take(&sizes, c_member(a, k->symbols.v[i], in), arena_printf(a, "dim %s", k->symbols.v[i]),
             in);
    for (size_t i = 0; i < k->bufs.n; i++) {
        const kbuf *b = k->bufs.v[i];
        if (kbuf_is_own(b))
            continue;
        check_buf(a, k, b, ds);
        static const char *const kinds[] = {
            [KB_INPUT] = "input", [KB_PARAM] = "param", [KB_OUTPUT] = "output"};
        static const attn_role roles[] = {
            [KB_INPUT] = ATTN_INPUT, [KB_PARAM] = ATTN_PARAM, [KB_OUTPUT] = ATTN_OUTPUT};
        attn_role role = roles[b->role];
        in = arena_printf(a, "%s_%s", symbol, iface_struct(PART_RUN, role));
        take(&members[role], c_member(a, user_name(b), in),
             arena_printf(a, "%s %s", kinds[b->role], user_name(b)), in);
    }
    for (size_t i = 0; i < k->checks.n; i++) {
        check_extent(a, k, k->checks.v[i].a, "a condition on the dims", ds);
        check_extent(a, k, k->checks.v[i].b, "a condition on the dims", ds);
    }
}

/* The step kernel has the tensors of the other; each is the schedule's work. */
static void check_stepper(const kernel *k, diags *ds)
{
    if (k->rows) {
        diag *d = diag_error(ds, (span){0}, "model %s is a step kernel alone", k->name);
        diag_help(d, "it compiles together with the kernel of the whole sequence only");
    }
    const kernel *p = k->stepper;
    for (size_t i = 0; p && i < k->bufs.n && k->bufs.v[i]->role <= KB_OUTPUT; i++) {
        const kbuf *x = k->bufs.v[i], *y = i < p->bufs.n ? p->bufs.v[i] : NULL;
        if (!y || x->role != y->role || x->rank != y->rank || x->n_family != y->n_family ||
            strcmp(user_name(x), user_name(y)) != 0)
            ice("kernel @%s: the step kernel has other tensors, beginning with %s", k->name,
                x->name);
    }
    ICE_UNLESS(!p || (p->rows && p->symbols.n == k->symbols.n));
}

bool backend_check(kernel *const *kernels, size_t n, diags *ds)
{
    size_t before = ds->n_errors + ds->n_muted;
    check_symbols(ds->a, kernels, n, ds);
    for (size_t i = 0; i < n; i++)
        check_kernel(ds->a, kernels[i], ds);
    for (size_t i = 0; i < n; i++)
        check_stepper(kernels[i], ds);
    return ds->n_errors + ds->n_muted == before;
}
