/* explain_text.c: the explanation for people: one fact to a line, places first. */
#include <string.h>

#include "frontend/cli/explain.h"
#include "frontend/cli/quantity.h"

enum { MOST_NAMES = 12 };

/* A line: its place in the source, "" where it goes on with the one before, and what it says. */
typedef struct row {
    const char *place;
    strbuf text;
} row;
typedef struct rows {
    session *s;
    VEC(row) all;
} rows;

/* A new line; its text is to be written. */
static strbuf *new_row(rows *r, span at, bool more)
{
    vec_push(r->s->a, &r->all, ((row){more ? "" : source_line(r->s, at), (strbuf){.a = r->s->a}}));
    strbuf *text = &vec_last(&r->all).text;
    sb_puts(text, more ? "  " : "");
    return text;
}

static void put_rows(const char *title, rows *r, strbuf *out)
{
    size_t width = 0;
    for (size_t i = 0; i < r->all.n; i++) {
        size_t n = strlen(r->all.v[i].place);
        width = n > width ? n : width;
    }
    if (r->all.n)
        sb_printf(out, "%s\n", title);
    for (size_t i = 0; i < r->all.n; i++)
        sb_printf(out, "  %-*s  %s\n", (int)width, r->all.v[i].place, sb_text(&r->all.v[i].text));
    r->all.n = 0;
}

static void put_names(session *s, strbuf *out, const value_list *list)
{
    for (size_t i = 0; i < list->n && i < MOST_NAMES; i++)
        sb_printf(out, "%s%s", i ? ", " : "", value_name(s, list->v[i]));
    if (list->n > MOST_NAMES)
        sb_printf(out, " and %zu more", list->n - MOST_NAMES);
}

static const char *formula(session *s, const dim *d)
{
    return d ? dim_text(s->a, d) : "too large to say";
}

static void put_norm(rows *r, const explain_norm *n, bool sized)
{
    const fuse_note *note = n->note;
    strbuf *out = new_row(r, note->v->at, false);
    sb_puts(out, value_name(r->s, note->v));
    if (note->fused && note->n_sums == 0)
        sb_puts(out, ": kept for a sum that goes where data says");
    else if (note->fused)
        sb_printf(out, ": fused with %u sum%s%s", note->n_sums, note->n_sums == 1 ? "" : "s",
                  note->weights ? "; the weights are kept" : "");
    else
        sb_printf(out, ": not fused: %s", note->why ? note->why : "nothing sums by its weights");
    out = new_row(r, note->v->at, true);
    if (!sized) {
        bool kept = !note->fused || note->weights;
        sb_printf(out, "its weights %s %s bytes", kept ? "are" : "would be",
                  formula(r->s, n->stored));
        return;
    }
    sb_puts(out, "estimate: ");
    put_quantity(out, n->plain_bytes, "B");
    sb_puts(out, " to and from memory with weights stored, ");
    put_quantity(out, n->fused_bytes, "B");
    sb_puts(out, " fused");
}

static void put_sums(rows *r, const scans_notes *notes, const char *form)
{
    for (size_t i = 0; i < notes->n; i++) {
        const scans_note *n = &notes->v[i];
        strbuf *out = new_row(r, n->v->at, false);
        sb_printf(out, "%s%s: %s", value_name(r->s, n->v), form, scans_way_text[n->way]);
        if (n->why)
            sb_printf(out, ": %s", n->why);
    }
}

static void put_scan(rows *r, const explain_scan *c)
{
    strbuf *out = new_row(r, c->v->at, false);
    sb_printf(out, "over %s%s, step by step: ", c->step->name, c->v->kind ? " from the end" : "");
    put_names(r->s, out, &c->sequential);
    for (size_t i = 0; i < c->reads.n && i < MOST_NAMES; i++) {
        out = new_row(r, c->reads.v[i]->at, false);
        sb_printf(out, "  through %s", value_name(r->s, c->reads.v[i]));
    }
    if (c->ahead.n) {
        out = new_row(r, c->v->at, true);
        sb_printf(out, "for all %s at once: ", c->step->name);
        put_names(r->s, out, &c->ahead);
    }
}

static void put_mask(rows *r, const explain_mask *m)
{
    strbuf *out = new_row(r, m->p->at.file ? m->p->at : m->user->at, false);
    sb_printf(out, "%s: over %s%s%s", mask_text(r->s, m->p), m->j->name, m->row ? " for each " : "",
              m->row ? m->row->name : "");
    for (size_t i = 0; i < m->parts.n; i++) {
        const explain_conjunct *c = &m->parts.v[i];
        out = new_row(r, m->p->at, true);
        if (m->parts.n > 1)
            sb_printf(out, "%s: ", mask_text(r->s, c->p));
        sb_puts(out, c->solved);
    }
    if (m->counted && m->share.tiles > 0) {
        const domain_share *d = &m->share;
        double tiles = (double)d->tiles;
        out = new_row(r, m->p->at, true);
        sb_printf(out, "%s%.3g %% of the tiles skipped, %.3g %% without a test of their elements",
                  d->exact ? "" : "at least ", 100 * (tiles - (double)d->visited) / tiles,
                  100 * (double)d->full / tiles);
    }
}

static void put_formulas(session *s, const graph *g, const explanation *x, strbuf *out)
{
    const cost *w = &x->work;
    const dim *all[] = {w->flops, w->calls, w->bytes, x->workspace, x->prepared};
    static const char *const title[] = {"operations", "functions", "memory", "workspace",
                                        "prepared"};
    enum { N = sizeof all / sizeof *all, FIRST_OF_BYTES = 2 };
    formulas *f = formulas_new(s, g, all, N);
    for (size_t i = 0; i < N; i++)
        sb_printf(out, "  %-10s  %s%s\n", title[i], formula_text(f, all[i]),
                  i >= FIRST_OF_BYTES ? " bytes" : "");
    formulas_put_names(f, "  where       ", out);
}

static void put_work(session *s, const graph *g, const explanation *x, strbuf *out)
{
    const cost *w = &x->work;
    sb_puts(out, "work\n");
    if (!w->sized) {
        put_formulas(s, g, x, out);
        return;
    }
    const char *most = w->exact ? "" : "at most ";
    sb_printf(out, "  operations  %s", most);
    put_quantity(out, w->n_flops, "FLOP");
    sb_printf(out, "\n  functions   %s", most);
    put_quantity(out, w->n_calls, "");
    sb_puts(out, " values of exp, tanh and their like\n  memory      ");
    put_quantity(out, w->n_bytes, "B");
    if (w->n_bytes > 0)
        sb_printf(out, ", %.3g operations a byte", w->n_flops / w->n_bytes);
    sb_puts(out, "\n  workspace   ");
    put_quantity(out, x->n_workspace, "B");
    sb_puts(out, "\n  prepared    ");
    put_quantity(out, x->n_prepared, "B");
    sb_puts(out, "\n");
}

static void put_model(session *s, const explained *e, strbuf *out)
{
    const explanation *x = &e->x;
    rows r = {.s = s};
    sb_printf(out, "model %s\n", e->g->name);
    for (size_t i = 0; i < x->norms.n; i++)
        put_norm(&r, &x->norms.v[i], x->work.sized);
    put_rows("normalisers", &r, out);
    put_sums(&r, &x->sums, "");
    put_sums(&r, &x->by_steps, " step by step");
    put_rows("sums over earlier steps", &r, out);
    for (size_t i = 0; i < x->scans.n; i++)
        put_scan(&r, &x->scans.v[i]);
    put_rows("recurrences", &r, out);
    for (size_t i = 0; i < x->masks.n; i++)
        put_mask(&r, &x->masks.v[i]);
    put_rows("masks", &r, out);
    put_work(s, e->g, x, out);
}

void explain_text(session *s, const explained_list *all, strbuf *out)
{
    for (size_t i = 0; i < all->n; i++) {
        if (i)
            sb_puts(out, "\n");
        put_model(s, &all->v[i], out);
    }
}
