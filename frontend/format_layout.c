/* format_layout.c: the spaces inside a statement, and where a long one is broken.
 *
 * A line that is too long is broken where it hurts least: at the lowest bracket depth, there at a
 * comma before `where` and `else`, before `or`, `and`, comparisons, sums and products, as far right
 * as fits. What follows stands under the first token of the bracket, or of the right side. A
 * trailing comma in a bracket asks for one element a line. */
#include "frontend/format_parts.h"
#define ATTN_STYPE parse_value
#include "parse.h"

/* ---- spaces ---- */

static bool ends_operand(int kind)
{
    return kind == TOK_NAME || kind == TOK_INT || kind == TOK_NUMBER || kind == TOK_STRING ||
           kind == TOK_RPAREN || kind == TOK_RBRACKET;
}

static bool is_simple(const ftoken *t)
{
    return t->kind == TOK_NAME || t->kind == TOK_INT;
}

static bool is_open(int kind)
{
    return kind == TOK_LPAREN || kind == TOK_LBRACKET;
}

static bool is_close(int kind)
{
    return kind == TOK_RPAREN || kind == TOK_RBRACKET;
}

static bool borders_item(const ftoken *t)
{
    return is_open(t->kind) || is_close(t->kind) || t->kind == TOK_COMMA || t->kind == TOK_SEMI ||
           t->kind == TOK_DOTDOT || t->kind == TOK_IN || t->kind == TOK_WHERE;
}

/* What the bracket t[i] encloses. */
static fplace place_of(const ftoken *t, size_t i)
{
    if (t[i].kind == TOK_LPAREN)
        return t[i].place == IN_TYPE ? IN_TYPE : IN_GROUP;
    if (i == 0)
        return IN_JOIN;
    if (t[i - 1].type_colon || t[i - 1].kind == TOK_ARROW)
        return IN_TYPE;
    if (!ends_operand(t[i - 1].kind))
        return IN_JOIN;
    if (i > 1 && (t[i - 2].type_colon || t[i - 2].kind == TOK_ARROW))
        return IN_TYPE; /* int[T] */
    return IN_INDEX;
}

/* `t-1` between commas, `2*H` in a type: no spaces around the operator. */
static bool is_tight(const ftoken *t, size_t n, size_t i)
{
    int k = t[i].kind;
    if (k == TOK_POW || k == TOK_DOT || k == TOK_DOTDOT)
        return true;
    if (i < 1 || i + 1 >= n || !is_simple(&t[i - 1]) || !is_simple(&t[i + 1]))
        return false;
    if (t[i].place == IN_TYPE)
        return k == TOK_STAR || k == TOK_SLASH || k == TOK_FLOORDIV;
    return t[i].place == IN_INDEX && (k == TOK_PLUS || k == TOK_MINUS) &&
           t[i + 1].kind == TOK_INT && i > 1 && i + 2 < n && borders_item(&t[i - 2]) &&
           borders_item(&t[i + 2]);
}

static bool space_between(const ftoken *p, const ftoken *t)
{
    if (p->tight || t->tight || p->unary)
        return false;
    if (p->kind == TOK_LBRACE || t->kind == TOK_RBRACE)
        return !(p->kind == TOK_LBRACE && t->kind == TOK_RBRACE);
    if (is_open(p->kind) || is_close(t->kind) || t->kind == TOK_COMMA || t->kind == TOK_SEMI)
        return false;
    if (is_open(t->kind) && ends_operand(p->kind))
        return false;
    return !t->type_colon;
}

void fmt_spaces(ftoken *t, size_t n)
{
    fplace places[MAX_NESTING + 1];
    int depth = 0;
    places[0] = IN_NOTHING;
    for (size_t i = 0; i < n; i++) {
        if (is_close(t[i].kind) && depth > 0)
            depth--;
        t[i].depth = depth;
        t[i].place = places[depth];
        t[i].type_colon = t[i].kind == TOK_COLON && i + 1 < n &&
                          (t[i + 1].kind == TOK_NAME || t[i + 1].kind == TOK_LBRACKET);
        t[i].unary = t[i].kind == TOK_MINUS && (i == 0 || !ends_operand(t[i - 1].kind));
        t[i].own_line = false;
        if (is_open(t[i].kind) && depth < MAX_NESTING) {
            fplace inner = place_of(t, i);
            places[++depth] = inner;
        }
    }
    for (size_t i = 0; i < n; i++)
        t[i].tight = !t[i].unary && is_tight(t, n, i);
    for (size_t i = 0; i < n; i++)
        t[i].space = i > 0 && space_between(&t[i - 1], &t[i]);
}

int fmt_flat_width(const ftoken *t, size_t n)
{
    int64_t width = 0;
    for (size_t i = 0; i < n; i++)
        width += t[i].width + t[i].space;
    return width > INT32_MAX ? INT32_MAX : (int)width;
}

/* ---- breaks ---- */

#define NO_BREAK 1000000

/* How much a break before t[i] hurts. */
static int break_cost(const ftoken *t, size_t i)
{
    int depth = t[i].depth * 20, k = t[i].kind;
    if (i == 0 || is_close(k) || t[i].tight || t[i - 1].tight)
        return NO_BREAK;
    if (t[i].depth > 0 && (t[i - 1].kind == TOK_COMMA || t[i - 1].kind == TOK_SEMI))
        return depth;
    switch (k) {
    case TOK_FROM:
    case TOK_ARROW:
        return depth;
    case TOK_WHERE:
    case TOK_ELSE:
        return depth + 1;
    case TOK_OR:
        return depth + 2;
    case TOK_AND:
        return depth + 3;
    case TOK_EQ:
    case TOK_NE:
    case TOK_LT:
    case TOK_LE:
    case TOK_GT:
    case TOK_GE:
        return depth + 4;
    case TOK_PLUS:
    case TOK_MINUS:
        return t[i].unary ? NO_BREAK : depth + 5;
    case TOK_STAR:
    case TOK_SLASH:
    case TOK_FLOORDIV:
    case TOK_PERCENT:
    case TOK_AT:
        return depth + 6;
    default:
        break;
    }
    if (t[i - 1].kind == TOK_LPAREN)
        return depth + 50;
    if (t[i - 1].kind == TOK_ASSIGN && t[i].depth == 0)
        return NO_BREAK - 1; /* only where nothing else is left */
    return NO_BREAK;
}

/* Marks the elements of brackets with a trailing comma, and what comments push to a new line. */
static void mark_own_lines(ftoken *t, size_t n)
{
    size_t open[MAX_NESTING + 1];
    int depth = 0;
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && (t[i].n_before || t[i - 1].after))
            t[i].own_line = true;
        if (is_open(t[i].kind) && depth < MAX_NESTING) {
            open[depth++] = i;
        } else if (is_close(t[i].kind) && depth > 0) {
            size_t from = open[--depth];
            if (t[i - 1].kind != TOK_COMMA)
                continue;
            t[from + 1].own_line = t[i].own_line = true;
            for (size_t j = from + 1; j < i; j++) {
                if (t[j].kind == TOK_COMMA && t[j].depth == depth + 1)
                    t[j + 1].own_line = true;
            }
        }
    }
}

typedef struct pen {
    const fcomment *comments;
    strbuf out;
    int column;
    int line_indent;
    int indent[MAX_NESTING + 1]; /* of what continues at each depth */
    int outer[MAX_NESTING + 1];  /* of the line that opened the bracket */
    int depth;
} pen;

static void new_line(pen *p, int indent)
{
    sb_printf(&p->out, "\n%*s", indent, "");
    p->column = indent;
    p->line_indent = indent;
}

static void put_token(pen *p, const ftoken *t, size_t n, size_t i, bool first)
{
    if (t[i].space && !first) {
        sb_puts(&p->out, " ");
        p->column++;
    }
    sb_putn(&p->out, t[i].text, t[i].n);
    p->column += t[i].width;
    if (is_open(t[i].kind) && p->depth < MAX_NESTING) {
        bool broken = (i + 1 < n && t[i + 1].own_line) || p->column > FMT_WIDTH * 6 / 10;
        p->depth++;
        p->outer[p->depth] = p->line_indent;
        p->indent[p->depth] = broken ? p->line_indent + FMT_MORE : p->column;
        if (p->indent[p->depth] > FMT_WIDTH * 6 / 10)
            p->indent[p->depth] = FMT_WIDTH * 6 / 10;
    } else if (is_close(t[i].kind) && p->depth > 0) {
        p->depth--;
    } else if (p->depth == 0 && (t[i].kind == TOK_ASSIGN || t[i].kind == TOK_RETURN)) {
        if (p->column < FMT_WIDTH / 2)
            p->indent[0] = p->column + 1;
    }
    if (t[i].after) {
        const fcomment *c = &p->comments[t[i].after - 1];
        sb_puts(&p->out, "  ");
        sb_putn(&p->out, c->text, c->n);
    }
}

/* Begins the line of t[i], comments before it included. */
static void break_before(pen *p, const ftoken *t, size_t i)
{
    int indent = p->indent[p->depth];
    if (is_close(t[i].kind))
        indent = p->outer[p->depth];
    for (size_t k = 0; k < t[i].n_before; k++) {
        const fcomment *c = &p->comments[t[i].first + k];
        new_line(p, p->indent[p->depth]);
        sb_putn(&p->out, c->text, c->n);
    }
    new_line(p, indent);
}

/* How many tokens from t[i] on stand on one line that begins at the pen's column. */
static size_t line_length(const pen *p, const ftoken *t, size_t n, size_t i)
{
    int64_t column = p->column;
    size_t best = 0;
    int best_cost = NO_BREAK;
    for (size_t k = i; k < n; k++) {
        if (k > i && t[k].own_line)
            return k - i;
        int cost = k > i ? break_cost(t, k) : NO_BREAK;
        bool over = column + (k > i && t[k].space) + t[k].width > FMT_WIDTH;
        if (over && best)
            return best - i;
        if (over && cost < NO_BREAK)
            return k - i;
        /* A break must gain something. */
        if (cost <= best_cost && cost < NO_BREAK && column > p->column + FMT_MORE) {
            best = k;
            best_cost = cost;
        }
        column += (k > i && t[k].space) + t[k].width;
        /* What closes a bracket keeps to it: a break before the next token may still be too late.
         */
        if (column > FMT_WIDTH && best)
            return best - i;
    }
    return n - i;
}

static void find_pad(const ftoken *t, size_t n, fline *line)
{
    size_t at = 0;
    int column = 0;
    for (size_t i = 0; i < n; i++) {
        bool assign = t[i].kind == TOK_ASSIGN && t[i].depth == 0 && line->class != LINE_TYPE;
        bool colon = t[i].type_colon && t[i].depth == 0 && line->class == LINE_TYPE;
        if (assign) {
            line->pad_at = at;
            line->pad_column = column;
            return;
        }
        at += t[i].n + t[i].space;
        column += t[i].width + t[i].space;
        if (colon) {
            line->pad_at = at;
            line->pad_column = column;
            return;
        }
    }
}

void fmt_statement(arena *a, const fcomment *comments, ftoken *t, size_t n, int indent, fline *line)
{
    pen on_stack, *p = &on_stack; /* large, and there may be many statements: not on the arena */
    p->comments = comments;
    p->out = (strbuf){.a = a};
    p->column = p->line_indent = p->outer[0] = indent;
    p->indent[0] = indent + FMT_MORE;
    p->depth = 0;
    fmt_spaces(t, n);
    mark_own_lines(t, n);
    for (size_t i = 0; i < n;) {
        size_t m = line_length(p, t, n, i);
        for (size_t k = i; k < i + m; k++)
            put_token(p, t, n, k, k == i);
        i += m;
        if (i < n)
            break_before(p, t, i);
        line->width = i < n || i > m ? -1 : p->column;
    }
    line->text = sb_text(&p->out);
    if (line->width >= 0 && line->class != LINE_OTHER)
        find_pad(t, n, line);
}
