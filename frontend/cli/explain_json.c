/* explain_json.c: the explanation for programs. */
#include "frontend/cli/explain.h"
#include "frontend/cli/json.h"

static void put_place(session *s, json *j, span at)
{
    place p = source_place(&s->sources, at);
    json_text(j, "file", p.src ? p.src->name : NULL);
    json_int(j, "line", p.line);
}

static void put_formula(session *s, json *j, const char *key, const dim *d)
{
    json_text(j, key, d ? dim_text(s->a, d) : NULL);
}

static void put_names(session *s, json *j, const char *key, const value_list *list)
{
    json_open(j, key, '[');
    for (size_t i = 0; i < list->n; i++)
        json_text(j, NULL, value_name(s, list->v[i]));
    json_close(j, ']');
}

static void put_norm(session *s, json *j, const explain_norm *n, bool sized)
{
    json_open(j, NULL, '{');
    json_text(j, "name", value_name(s, n->note->v));
    put_place(s, j, n->note->v->at);
    json_bool(j, "fused", n->note->fused);
    json_text(j, "why", n->note->why);
    json_int(j, "sums", n->note->n_sums);
    json_bool(j, "weights_kept", n->note->weights);
    put_formula(s, j, "weights_bytes", n->stored);
    json_open(j, "rows", '[');
    for (size_t i = 0; i < n->rows.n; i++)
        put_formula(s, j, NULL, n->rows.v[i]->extent);
    json_close(j, ']');
    json_open(j, "over", '[');
    for (uint32_t i = 0; i < n->note->v->n_bound; i++)
        put_formula(s, j, NULL, n->note->v->bound[i]->extent);
    json_close(j, ']');
    if (sized) {
        json_real(j, "share", n->share);
        json_real(j, "stored_traffic_bytes", n->plain_bytes);
        json_real(j, "fused_traffic_bytes", n->fused_bytes);
    }
    json_close(j, '}');
}

static void put_sums(session *s, json *j, const char *key, const scans_notes *notes)
{
    json_open(j, key, '[');
    for (size_t i = 0; i < notes->n; i++) {
        json_open(j, NULL, '{');
        json_text(j, "name", value_name(s, notes->v[i].v));
        put_place(s, j, notes->v[i].v->at);
        json_text(j, "way", scans_way_word[notes->v[i].way]);
        json_text(j, "why", notes->v[i].why);
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void put_scan(session *s, json *j, const explain_scan *c)
{
    json_open(j, NULL, '{');
    put_place(s, j, c->v->at);
    json_text(j, "step", c->step->name);
    json_bool(j, "backward", c->v->kind != 0);
    put_names(s, j, "sequential", &c->sequential);
    put_names(s, j, "through", &c->reads);
    put_names(s, j, "at_once", &c->ahead);
    json_close(j, '}');
}

static void put_mask(session *s, json *j, const explain_mask *m)
{
    json_open(j, NULL, '{');
    json_text(j, "text", mask_text(s, m->p));
    put_place(s, j, m->p->at.file ? m->p->at : m->user->at);
    json_text(j, "index", m->j->name);
    json_text(j, "row", m->row ? m->row->name : NULL);
    json_open(j, "parts", '[');
    for (size_t i = 0; i < m->parts.n; i++) {
        json_open(j, NULL, '{');
        json_text(j, "text", mask_text(s, m->parts.v[i].p));
        json_text(j, "solved", m->parts.v[i].solved);
        json_close(j, '}');
    }
    json_close(j, ']');
    if (m->counted) {
        json_int(j, "tiles", m->share.tiles);
        json_int(j, "visited", m->share.visited);
        json_int(j, "full", m->share.full);
        json_bool(j, "exact", m->share.exact);
    }
    json_close(j, '}');
}

static void put_work(session *s, json *j, const explanation *x)
{
    const cost *w = &x->work;
    json_open(j, "work", '{');
    put_formula(s, j, "flops_formula", w->flops);
    put_formula(s, j, "function_values_formula", w->calls);
    put_formula(s, j, "bytes_formula", w->bytes);
    put_formula(s, j, "workspace_formula", x->workspace);
    put_formula(s, j, "prepared_formula", x->prepared);
    if (w->sized) {
        json_real(j, "flops", w->n_flops);
        json_real(j, "function_values", w->n_calls);
        json_real(j, "bytes", w->n_bytes);
        json_bool(j, "exact", w->exact);
        json_real(j, "workspace_bytes", x->n_workspace);
        json_real(j, "prepared_bytes", x->n_prepared);
    }
    json_close(j, '}');
}

static void put_model(session *s, json *j, const explained *e)
{
    const explanation *x = &e->x;
    json_open(j, NULL, '{');
    json_text(j, "model", e->g->name);
    json_open(j, "normalisers", '[');
    for (size_t i = 0; i < x->norms.n; i++)
        put_norm(s, j, &x->norms.v[i], x->work.sized);
    json_close(j, ']');
    put_sums(s, j, "sums", &x->sums);
    put_sums(s, j, "sums_by_steps", &x->by_steps);
    json_open(j, "recurrences", '[');
    for (size_t i = 0; i < x->scans.n; i++)
        put_scan(s, j, &x->scans.v[i]);
    json_close(j, ']');
    json_open(j, "masks", '[');
    for (size_t i = 0; i < x->masks.n; i++)
        put_mask(s, j, &x->masks.v[i]);
    json_close(j, ']');
    put_work(s, j, x);
    json_close(j, '}');
}

void explain_json(session *s, const explained_list *all, strbuf *out)
{
    json j = {.out = out};
    json_open(&j, NULL, '[');
    for (size_t i = 0; i < all->n; i++)
        put_model(s, &j, &all->v[i]);
    json_close(&j, ']');
}
