/* heat.c: a result as a picture of its magnitudes: shades on a terminal, characters elsewhere. */
#include <math.h>
#include <string.h>

#include "frontend/cli/bind.h"

#define SLICES 4  /* matrices shown of a tensor with more axes */
#define LINES  48 /* of one matrix; larger ones are shown in blocks */

static const char ramp[] = " .:-=+*#%@";
enum { RAMP = sizeof ramp - 1, GREYS = 24, FIRST_GREY = 232 };

typedef struct heat {
    const attn_tensor *t;
    const char *row, *column;          /* names of the two axes */
    int64_t rows, columns;             /* elements */
    int64_t block_rows, block_columns; /* elements that share a cell: the largest is shown */
    int cell;                          /* characters across */
    double lo, hi;
    bool colour;
    const char **labels; /* words for the positions of axes with n_labels elements */
    int64_t n_labels;
    strbuf *out;
} heat;

/* What a cell shows: its largest element, NaN if any is. */
static double cell_value(const heat *h, int64_t base, int64_t row, int64_t column)
{
    double most = -INFINITY;
    for (int64_t i = row; i < row + h->block_rows && i < h->rows; i++) {
        for (int64_t j = column; j < column + h->block_columns && j < h->columns; j++) {
            double v = tensor_number(h->t, base + i * h->columns + j);
            if (isnan(v))
                return v;
            most = v > most ? v : most;
        }
    }
    return most;
}

static void put_cell(const heat *h, double v)
{
    double x = h->hi > h->lo ? (v - h->lo) / (h->hi - h->lo) : v > 0;
    x = x < 0 ? 0 : x > 1 ? 1 : x;
    char mark = isnan(v) ? '?' : isinf(v) ? (v > 0 ? '!' : ' ') : '\0';
    char text[4] = {0};
    if (h->colour) {
        memset(text, mark ? mark : ' ', (size_t)h->cell);
        int grey = isnan(v) ? 0 : (int)(x * (GREYS - 1) + 0.5);
        sb_printf(h->out, "\033[48;5;%dm%s%s", FIRST_GREY + grey, mark == '?' ? "\033[31m" : "",
                  text);
        return;
    }
    /* Whatever is not nothing has a mark. */
    int shade = (int)(x * (RAMP - 1) + 0.5);
    if (shade == 0 && v > h->lo)
        shade = 1;
    memset(text, mark ? mark : ramp[shade], (size_t)h->cell);
    sb_puts(h->out, text);
}

static int digits(int64_t n)
{
    int d = 1;
    while (n >= 10) {
        n /= 10;
        d++;
    }
    return d;
}

/* Columns that a name takes, near enough for labels. */
static int name_width(const char *t)
{
    int n = 0;
    for (; *t; t++)
        n += ((unsigned char)*t & 0xC0) != 0x80;
    return n;
}

/* The words of --labels. */
static void read_labels(session *s, heat *h)
{
    const char *t = opt_text(s, OPT_labels);
    if (!t)
        return;
    h->labels = ARENA_ARRAY(s->a, const char *, strlen(t) / 2 + 1);
    while (*(t += strspn(t, " ")) != '\0') {
        size_t n = strcspn(t, " ");
        h->labels[h->n_labels++] = arena_strndup(s->a, t, n);
        t += n;
    }
}

static const char *row_label(const heat *h, int64_t i)
{
    return h->n_labels == h->rows && h->rows > 1 ? h->labels[i] : "";
}

static bool labelled_columns(const heat *h)
{
    return h->cell == 3;
}

/* Room for a row's label: the axis's name, the word, the number. */
static int label_width(const heat *h)
{
    int word = 0;
    for (int64_t i = 0; i < h->rows && *row_label(h, i); i++)
        word = name_width(row_label(h, i)) > word ? name_width(row_label(h, i)) : word;
    return name_width(h->row) + 1 + (word ? word + 1 : 0) + digits(h->rows - 1);
}

/* The first two characters of a word and a blank, as wide as a cell. */
static void put_head(const heat *h, const char *word)
{
    const char *end = word;
    int n = 0;
    while (*end && (n < 2 || ((unsigned char)*end & 0xC0) == 0x80))
        n += ((unsigned char)*end++ & 0xC0) != 0x80;
    sb_putn(h->out, word, (size_t)(end - word));
    sb_printf(h->out, "%*s", h->cell - name_width(word) > 1 ? h->cell - name_width(word) : 1, "");
}

static void drop_blanks(const heat *h)
{
    while (h->out->n && h->out->s[h->out->n - 1] == ' ')
        h->out->s[--h->out->n] = '\0';
}

static void draw(const heat *h, int64_t base)
{
    int label = label_width(h), number = digits(h->rows - 1);
    sb_printf(h->out, "%*s ", label, h->column);
    if (labelled_columns(h)) {
        for (int64_t j = 0; j < h->columns; j++)
            put_head(h, h->labels[j]);
        drop_blanks(h);
    } else {
        sb_printf(h->out, h->columns > 1 ? "0 .. %lld" : "0", (long long)h->columns - 1);
    }
    sb_puts(h->out, "\n");
    for (int64_t i = 0; i < h->rows; i += h->block_rows) {
        const char *name = i == 0 ? h->row : "", *word = row_label(h, i);
        int blank = label - name_width(name) - name_width(word) - (*word ? 1 : 0) - number;
        sb_printf(h->out, "%s%*s%s%s%*lld ", name, blank, "", word, *word ? " " : "", number,
                  (long long)i);
        for (int64_t j = 0; j < h->columns; j += h->block_columns)
            put_cell(h, cell_value(h, base, i, j));
        if (h->colour)
            sb_puts(h->out, "\033[0m");
        else
            drop_blanks(h); /* none at the ends of lines */
        sb_puts(h->out, "\n");
    }
}

static void find_range(heat *h, int64_t n)
{
    h->lo = INFINITY;
    h->hi = -INFINITY;
    for (int64_t i = 0; i < n; i++) {
        double v = tensor_number(h->t, i);
        if (!isfinite(v))
            continue;
        h->lo = v < h->lo ? v : h->lo;
        h->hi = v > h->hi ? v : h->hi;
    }
    if (h->lo > h->hi)
        h->lo = h->hi = 0;
    if (h->lo > 0)
        h->lo = 0; /* weights: nothing is 0 */
}

static void legend(const heat *h)
{
    if (h->colour) {
        sb_printf(h->out, "%.4g ", h->lo);
        for (int g = 0; g < GREYS; g += 3)
            sb_printf(h->out, "\033[48;5;%dm ", FIRST_GREY + g);
        sb_printf(h->out, "\033[0m %.4g", h->hi);
    } else {
        sb_printf(h->out, "%.4g \"%s\" %.4g", h->lo, ramp, h->hi);
    }
    if (h->block_rows > 1 || h->block_columns > 1)
        sb_printf(h->out, "; a cell is the largest of %lld x %lld", (long long)h->block_rows,
                  (long long)h->block_columns);
    sb_puts(h->out, "\n");
}

void show_heat(session *s, const attn_tensor *t, const char *const *axes, strbuf *out)
{
    sb_printf(out, "%s  ", t->name);
    show_type(t, axes, out);
    sb_puts(out, "\n");
    int64_t n = attn_tensor_elements(t);
    if (n == 0)
        return;
    int64_t r = t->rank;
    heat h = {.t = t,
              .row = r > 1 && axes && axes[r - 2] ? axes[r - 2] : "",
              .column = r > 0 && axes && axes[r - 1] ? axes[r - 1] : "",
              .rows = r > 1 ? t->shape[r - 2] : 1,
              .columns = r > 0 ? t->shape[r - 1] : 1,
              .colour = s->colour_out,
              .out = out};
    read_labels(s, &h);
    int64_t room = terminal_width() - label_width(&h) - 1;
    room = room < 1 ? 1 : room;
    if (h.n_labels == h.columns && h.columns > 1 && 3 * h.columns <= room)
        h.cell = 3;
    else
        h.cell = 2 * h.columns <= room ? 2 : 1;
    h.block_columns = (h.columns + room - 1) / room;
    h.block_rows = (h.rows + LINES - 1) / LINES;
    find_range(&h, n);
    legend(&h);

    int64_t size = h.rows * h.columns, slices = n / size;
    for (int64_t k = 0; k < slices && k < SLICES; k++) {
        if (slices > 1) { /* which one: the indices of the leading axes */
            int64_t rest = k;
            int64_t *index = ARENA_ARRAY(s->a, int64_t, (size_t)r);
            for (int64_t i = r - 3; i >= 0; i--) {
                index[i] = rest % t->shape[i];
                rest /= t->shape[i];
            }
            for (int64_t i = 0; i < r - 2; i++)
                sb_printf(out, "%s%s%s%lld", i ? ", " : "", axes && axes[i] ? axes[i] : "",
                          axes && axes[i] ? " = " : "", (long long)index[i]);
            sb_puts(out, "\n");
        }
        draw(&h, k * size);
    }
    if (slices > SLICES)
        sb_printf(out, "(%lld more)\n", (long long)(slices - SLICES));
}
