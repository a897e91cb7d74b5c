/* cmd_params.c: `attnc params`: what a weights file must hold. */
#include <string.h>

#include "frontend/cli/program.h"

enum { N_COLUMNS = 4 };

typedef struct row {
    const char *cell[N_COLUMNS];
} row;
typedef VEC(row) rows;

/* `W[12]` for a family of 12 tensors. */
static const char *name_text(session *s, const value *v)
{
    strbuf b = {.a = s->a};
    sb_puts(&b, v->name);
    for (uint32_t i = 0; i < v->n_family; i++) {
        sb_puts(&b, "[");
        dim_print(v->ix[i]->extent, &b);
        sb_puts(&b, "]");
    }
    return sb_text(&b);
}

/* Of one tensor. */
static const char *shape_text(session *s, const value *v)
{
    strbuf b = {.a = s->a};
    sb_puts(&b, "[");
    for (uint32_t i = v->n_family; i < v->n_ix; i++) {
        if (i > v->n_family)
            sb_puts(&b, ", ");
        dim_print(v->ix[i]->extent, &b);
    }
    sb_puts(&b, "]");
    return sb_text(&b);
}

/* Columns counted in characters, so that names in any script line up. */
static size_t width(const char *t)
{
    size_t n = 0;
    for (; *t; t++)
        n += ((unsigned char)*t & 0xC0) != 0x80;
    return n;
}

static void print_rows(strbuf *out, const rows *r)
{
    size_t wide[N_COLUMNS] = {0};
    for (size_t i = 0; i < r->n; i++) {
        for (int c = 0; c < N_COLUMNS; c++) {
            size_t w = width(r->v[i].cell[c]);
            wide[c] = w > wide[c] ? w : wide[c];
        }
    }
    for (size_t i = 0; i < r->n; i++) {
        for (int c = 0; c < N_COLUMNS; c++) {
            const char *t = r->v[i].cell[c];
            sb_puts(out, t);
            if (c + 1 < N_COLUMNS)
                sb_printf(out, "%*s", (int)(wide[c] - width(t)) + 2, "");
        }
        sb_puts(out, "\n");
    }
}

int cmd_params(session *s)
{
    compile_options c;
    if (!compile_options_read(s, &c))
        return 2;
    program p;
    bool ok = program_load(s, s->o.operands[0], &c, &p);
    if (session_report(s) || !ok)
        return 1;
    strbuf out = {.a = s->a};
    for (size_t i = 0; i < p.graphs.n; i++) {
        const graph *g = p.graphs.v[i];
        if (p.graphs.n > 1)
            sb_printf(&out, "%smodel %s\n", i ? "\n" : "", g->name);
        rows r = {0};
        vec_push(s->a, &r, ((row){{"NAME", "TYPE", "SHAPE", "SOURCE"}}));
        for (size_t k = 0; k < g->params.n; k++) {
            const value *v = g->params.v[k];
            row line = {{name_text(s, v), store_table[v->kind].text, shape_text(s, v),
                         v->source ? v->source : v->name}};
            vec_push(s->a, &r, line);
        }
        print_rows(&out, &r);
    }
    return session_print(s, &out) ? 0 : 1;
}
