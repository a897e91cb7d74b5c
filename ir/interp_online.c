/* interp_online.c: online ops in the interpreter, by their definition and not as they are computed:
 * first all weights, by the normaliser's own code, then every part from them or from the scores. */
#include "ir/interp_internal.h"

/* Laid out as the weights: all indices of score and predicate, and what is bound. */
tensor *online_tensor(machine *m, const value *v)
{
    const value *of[2] = {v->args[0], v->where};
    value *shape = ARENA_NEW(m->scratch, value);
    uint32_t n = v->args[0]->n_ix + (v->where ? v->where->n_ix : 0) + v->n_bound;
    const ix **list = ARENA_ARRAY(m->scratch, const ix *, n);
    *shape = (value){.op = v->op, .dt = v->args[0]->dt, .hint = v->hint, .ix = list};
    for (int k = 0; k < 2; k++) {
        for (uint32_t i = 0; of[k] && i < of[k]->n_ix; i++) {
            if (!value_has_ix(shape, of[k]->ix[i]))
                list[shape->n_ix++] = of[k]->ix[i];
        }
    }
    for (uint32_t i = 0; i < v->n_bound; i++) {
        if (!value_has_ix(shape, v->bound[i]))
            list[shape->n_ix++] = v->bound[i];
    }
    tensor *t = ARENA_NEW(m->scratch, tensor);
    t->v = shape;
    return t;
}

void plan_online(machine *m, plan *p, const value *v, const block *in)
{
    const value *shape = m->of[v->id]->v;
    make_plan(m, p, v->args[0], v->where, in, shape->ix, shape->n_ix, NULL, 0);
}

/* The weights are there: they or the scores are folded where the predicate holds. */
void plan_part(machine *m, plan *p, const value *v, const block *in)
{
    const value *on = v->args[0];
    if (v->kind == PART_weights) {
        make_plan(m, p, on, NULL, in, v->ix, v->n_ix, NULL, 0);
    } else if (v->kind < 0) {
        make_plan(m, p, on->args[0], on->where, in, v->ix, v->n_ix, on->bound, on->n_bound);
    } else {
        open_plan(m, p, in, v->ix, v->n_ix, on->bound, on->n_bound);
        p->root = add_product(m, p, OP_weigh, v, on, on->args[v->kind + 1]);
        p->where = on->where ? add_node(m, p, on->where) : -1;
    }
}

int part_fold(const value *v)
{
    switch (v->kind) {
    case PART_weights:
        return FOLD_ASSIGN;
    case PART_lse:
        return RED_logsumexp;
    case PART_max:
        return RED_max;
    case PART_sum:
        return v->args[0]->kind == ON_softmax     ? FOLD_EXP_SUM
               : v->args[0]->kind == ON_normalize ? FOLD_MASS
                                                  : (int)RED_sum;
    default:
        return RED_sum;
    }
}

/* t holds the scores. */
void run_online(machine *m, const value *v, tensor *t, const unsigned char *live)
{
    if (v->kind != ON_plain) {
        run_norm(m, v, v->kind == ON_softmax ? OP_softmax : OP_normalize, t, live);
        return;
    }
    for (size_t k = 0; k < t->n; k++) {
        t->f[k] = live[k] ? t->f[k] : 0;
        if (t->bad)
            t->bad[k] = live[k] ? t->bad[k] : 0;
    }
}
