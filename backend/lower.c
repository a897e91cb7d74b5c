/* lower.c: one kernel into an LLVM module. The parts are in the other lower_*.c files. */
#include "backend/lower.h"

#include "backend/session.h"

static void use(low *c, const kbuf *b)
{
    if (b && (b->role == KB_TEMP || b->role == KB_LOCAL))
        c->scratch[b->id] = true;
}

static void use_expr(low *c, ptr_map *seen, const kexpr *e)
{
    if (!e || ptr_map_at(seen, e)->value)
        return;
    ptr_map_at(seen, e)->value = c;
    use(c, e->buf);
    for (uint32_t i = 0; i < e->n_args; i++)
        use_expr(c, seen, e->args[i]);
}

/* The temps and locals that the prepare body uses: nobody gives it a workspace. */
static void find_scratch(low *c, ptr_map *seen, const kblock *b)
{
    for (size_t i = 0; i < b->s.n; i++) {
        const kstmt *s = b->s.v[i];
        use(c, s->buf);
        use_expr(c, seen, s->e);
        use_expr(c, seen, s->lo);
        use_expr(c, seen, s->hi);
        for (uint32_t j = 0; j < s->n_index; j++)
            use_expr(c, seen, s->index[j]);
        find_scratch(c, seen, &s->body);
        find_scratch(c, seen, &s->other);
    }
}

low low_new(lb *l, const kernel *k)
{
    low c = {.l = l, .a = l->a, .k = k, .guarded = {.a = l->a}};
    for (size_t i = 0; i < k->bufs.n; i++)
        c.n_own[k->bufs.v[i]->role]++;
    ptr_map seen = {.a = l->a};
    c.scratch = ARENA_ARRAY(l->a, bool, k->bufs.n + 1);
    find_scratch(&c, &seen, &k->prepare);
    low_collect_dims(&c);
    return c;
}

void lower_kernel(lb *l, const kernel *k)
{
    low c = low_new(l, k);
    session_doing("lowering", k->name);
    c.f = iface_new(l->a, k);
    lower_sizes(&c);
    lower_prepare(&c);
    lower_body(&c);
    if (k->stepper)
        c.steps = lower_steps(l, k->stepper, &c);
    lower_entry(&c);
    lower_info(&c);
    session_doing(NULL, NULL);
}
