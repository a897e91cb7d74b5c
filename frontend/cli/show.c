/* show.c: a tensor in short, numbers in columns. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "frontend/cli/bind.h"

#define WHOLE                                                                                      \
    1000 /* tensors up to this many elements are shown whole, as far as lines are wide enough */
#define EDGE 3 /* of larger ones: the first and last so many of each axis */

int terminal_width(void)
{
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 20)
        return size.ws_col;
    const char *columns = getenv("COLUMNS");
    int n = columns ? atoi(columns) : 0;
    return n >= 20 ? n : 80;
}

void show_type(const attn_tensor *t, const char *const *axes, strbuf *out)
{
    sb_printf(out, "%s[", attn_dtype_name(t->dtype));
    for (int64_t i = 0; i < t->rank; i++) {
        if (axes && axes[i])
            sb_printf(out, "%s%s: %lld", i ? ", " : "", axes[i], (long long)t->shape[i]);
        else
            sb_printf(out, "%s%lld", i ? ", " : "", (long long)t->shape[i]);
    }
    sb_puts(out, "]");
}

typedef struct shower {
    const attn_tensor *t;
    const int64_t *head; /* per axis: leading elements shown; all of them where head >= shape */
    const int64_t *tail;
    int width; /* of a number; 0: only measure */
    int widest;
    strbuf *out;
} shower;

static void element(shower *w, int64_t at)
{
    const attn_tensor *t = w->t;
    char text[40];
    if (t->dtype == ATTN_I64)
        snprintf(text, sizeof text, "%lld", (long long)((const int64_t *)t->data)[at]);
    else if (t->dtype == ATTN_BOOL)
        snprintf(text, sizeof text, "%s", ((const uint8_t *)t->data)[at] ? "true" : "false");
    else if (t->dtype == ATTN_I32 || t->dtype == ATTN_U8)
        snprintf(text, sizeof text, "%.0f", tensor_number(t, at));
    else if (isnan(tensor_number(t, at))) /* its sign means nothing */
        snprintf(text, sizeof text, "nan");
    else
        snprintf(text, sizeof text, "%.4g", tensor_number(t, at));
    int n = (int)strlen(text);
    w->widest = n > w->widest ? n : w->widest;
    if (w->width)
        sb_printf(w->out, "%*s", w->width, text);
}

/* Everything below one position of the first `axis` axes; `at` is its number. */
static void show_axis(shower *w, int64_t axis, int64_t at)
{
    const attn_tensor *t = w->t;
    if (axis == t->rank) {
        element(w, at);
        return;
    }
    bool last = axis + 1 == t->rank;
    int64_t n = t->shape[axis];
    if (w->width)
        sb_puts(w->out, "[");
    for (int64_t i = 0; i < n; i++) {
        bool gap = i == w->head[axis] && n > w->head[axis] + w->tail[axis];
        if (w->width && i > 0) {
            if (last)
                sb_puts(w->out, " ");
            else
                sb_printf(w->out, "\n%*s", (int)axis + 1, "");
        }
        if (gap) {
            if (w->width)
                sb_puts(w->out, "...");
            i = n - w->tail[axis] - 1;
            continue;
        }
        show_axis(w, axis + 1, at * n + i);
    }
    if (w->width)
        sb_puts(w->out, "]");
}

void show_result(session *s, const attn_tensor *t, const char *const *axes, strbuf *out)
{
    sb_printf(out, "%s  ", t->name);
    show_type(t, axes, out);
    sb_puts(out, "\n");
    int64_t total = attn_tensor_elements(t);
    if (total == 0)
        return;
    int64_t *head = ARENA_ARRAY(s->a, int64_t, (size_t)t->rank);
    int64_t *tail = ARENA_ARRAY(s->a, int64_t, (size_t)t->rank);
    for (int64_t i = 0; i < t->rank; i++) {
        bool shorten = total > WHOLE && t->shape[i] > 2 * EDGE;
        head[i] = shorten ? EDGE : t->shape[i];
        tail[i] = shorten ? EDGE : 0;
    }
    shower w = {t, head, tail, 0, 1, out};
    show_axis(&w, 0, 0);
    if (t->rank > 0) { /* a row is one line */
        int64_t last = t->rank - 1, room = terminal_width() - 2 * t->rank + 1;
        bool gap = head[last] + tail[last] < t->shape[last];
        if ((head[last] + tail[last]) * (w.widest + 1) + 4 * gap > room) {
            int64_t fit = (room - 4) / (w.widest + 1); /* the dots and their blank are 4 */
            fit = fit < 2 ? 2 : fit;
            tail[last] = fit / 2;
            head[last] = fit - tail[last];
        }
    }
    w.width = w.widest;
    show_axis(&w, 0, 0);
    sb_puts(out, "\n");
}
