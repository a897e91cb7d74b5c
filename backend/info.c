/* info.c: the reflection record of a kernel (attn_abi.h): what a host needs to call a model it has
 * never seen. lower_info.c writes the same record into the object. */
#include <stdlib.h>
#include <string.h>

#include "backend/iface.h"

static const attn_dtype dtypes[ST_COUNT] = {
#define X(id, text, bytes, value) [ST_##id] = ATTN_##id,
    STORE_TYPES(X)
#undef X
};

static attn_extent extent(arena *a, const kernel *k, const dim *d)
{
    int64_t depth;
    return iface_extent(a, k, d, &depth);
}

/* The i-th name of a family: each `{...}` of the pattern is one of its indices, outermost first; a
 * pattern without any gets them behind, after dots. */
static const char *family_name(arena *a, const char *pattern, const kbuf *b, int64_t i)
{
    int64_t *at = ARENA_ARRAY(a, int64_t, b->n_family);
    for (uint32_t j = b->n_family; j-- > 0;) {
        int64_t extent_j = 1;
        dim_is_const(b->shape[j], &extent_j);
        at[j] = i % extent_j;
        i /= extent_j;
    }
    strbuf s = {.a = a};
    uint32_t used = 0;
    for (const char *p = pattern; *p; p++) {
        const char *close = *p == '{' && used < b->n_family ? strchr(p, '}') : NULL;
        if (close) {
            /* {l} counts from 0, {l+2} from 2 */
            const char *plus = memchr(p, '+', (size_t)(close - p));
            long long first = plus ? strtoll(plus + 1, NULL, 10) : 0;
            sb_printf(&s, "%lld", (long long)at[used++] + first);
            p = close;
        } else {
            sb_putn(&s, p, 1);
        }
    }
    for (; used < b->n_family; used++)
        sb_printf(&s, ".%lld", (long long)at[used]);
    return sb_text(&s);
}

/* What of _begin and _step a tensor belongs to; its axis of steps among those behind the family's.
 */
static void put_steps(const kernel *k, const kbuf *b, attn_tensor_info *t)
{
    t->step_axis = -1;
    if (!k->stepper || b->role == KB_PARAM)
        return;
    int axis = kernel_step_axis(k->stepper, k->stepper->bufs.v[b->id]);
    t->step_axis = axis < 0 ? -1 : axis - (int)b->n_family;
    t->flags |= b->role == KB_OUTPUT || axis >= 0 ? ATTN_STEP : ATTN_BEGIN;
}

static void put_tensors(arena *a, const kernel *k, const iface_buf *f, attn_tensor_info *out)
{
    const kbuf *b = f->buf;
    uint32_t rank = b->rank - b->n_family;
    attn_extent *shape = rank > 0 ? ARENA_ARRAY(a, attn_extent, rank) : NULL;
    for (uint32_t i = 0; i < rank; i++)
        shape[i] = extent(a, k, b->shape[b->n_family + i]);
    const char *label = b->label ? b->label : b->name;
    for (int64_t i = 0; i < f->n; i++) {
        out[i] = (attn_tensor_info){
            .name = b->n_family > 0 ? family_name(a, label, b, i) : label,
            .role = f->role,
            .dtype = dtypes[b->store],
            .flags = b->optional ? ATTN_OPTIONAL : 0,
            .rank = rank,
            .shape = shape,
            .source = b->source && b->n_family > 0 ? family_name(a, b->source, b, i) : b->source,
            .slot = f->slot + i,
        };
        put_steps(k, b, &out[i]);
    }
}

const attn_model_info *backend_info(arena *a, const kernel *k)
{
    iface *f = iface_new(a, k);
    attn_model_info *m = ARENA_NEW(a, attn_model_info);
    m->abi_version = ATTN_ABI_VERSION;
    m->name = k->name;
    m->n_dims = (int64_t)k->symbols.n;
    const char **dim_names = ARENA_ARRAY(a, const char *, k->symbols.n + 1);
    for (size_t i = 0; i < k->symbols.n; i++)
        dim_names[i] = k->symbols.v[i];
    m->dim_names = dim_names;

    m->n_tensors = f->n_slots[0] + f->n_slots[1] + f->n_slots[2];
    attn_tensor_info *tensors = ARENA_ARRAY(a, attn_tensor_info, (size_t)m->n_tensors + 1);
    m->tensors = tensors;
    for (size_t i = 0; i < f->n_bufs; i++) {
        put_tensors(a, k, &f->bufs[i], tensors);
        tensors += f->bufs[i].n;
    }

    m->n_checks = (int64_t)k->checks.n;
    attn_check_info *checks = ARENA_ARRAY(a, attn_check_info, k->checks.n + 1);
    for (size_t i = 0; i < k->checks.n; i++) {
        const graph_check *c = &k->checks.v[i];
        checks[i] = (attn_check_info){.lhs = extent(a, k, c->a),
                                      .rhs = extent(a, k, c->b),
                                      .relation = c->le ? ATTN_LE : ATTN_EQ,
                                      .message = c->text ? c->text : ""};
    }
    m->checks = checks;
    if (k->stepper) {
        attn_extent *capacity = ARENA_NEW(a, attn_extent);
        *capacity = extent(a, k->stepper, k->stepper->capacity);
        m->capacity = capacity;
    }
    return m;
}
