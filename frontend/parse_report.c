/* parse_report.c: the text of syntax errors: what was found, what was expected, and what may have
 * been meant. */
#include <string.h>

#include "frontend/parse_ctx.h"
#define ATTN_STYPE parse_value
#include "parse.h"

void parse_too_deep(parse_ctx *pc, span at)
{
    diag *d = diag_error(pc->ds, at, "expression too deep: the limit is %d levels", AST_MAX_DEPTH);
    diag_help(d, "split it with a name");
}

/* ---- the list of expected tokens ---- */

typedef struct expectation {
    const char *const *names;
    size_t n;
} expectation;

static bool expects(const expectation *x, const char *name)
{
    for (size_t i = 0; i < x->n; i++) {
        if (strcmp(x->names[i], name) == 0)
            return true;
    }
    return false;
}

static bool is_among(const char *name, const char *const *list)
{
    for (; *list; list++) {
        if (strcmp(name, *list) == 0)
            return true;
    }
    return false;
}

/* Tokens that are better named together. Which members stand for the whole group is its first. */
static const char *const value_group[] = {"integer", "name",  "number", "'('", "'['",
                                          "'-'",     "'not'", "':'",    NULL};
static const char *const operator_group[] = {"'+'",   "'-'",  "'*'",  "'/'",     "'//'",   "'%'",
                                             "'@'",   "'^'",  "'=='", "'!='",    "'<'",    "'<='",
                                             "'>'",   "'>='", "'or'", "'('",     "'['",    "'.'",
                                             "'and'", "'..'", "'in'", "'where'", "'else'", NULL};
static const char *const statement_group[] = {"'return'", "'until'",     "'param'", "'part'",
                                              "'const'",  "'dim'",       "name",    "'('",
                                              "'['",      "end of line", NULL};
static const char *const declaration_group[] = {"declaration", "'import'",    "'const'",
                                                "'dim'",       "end of line", NULL};

static void put_expected(strbuf *out, const expectation *x)
{
    static const struct {
        const char *member;
        const char *const *group;
        const char *name;
    } groups[] = {
        {"'import'", declaration_group,
         "a declaration (score, mask, encoder, recurrence, model, fn, import, const, dim)"},
        {"'return'", statement_group, "a statement"},
        {"integer", value_group, "an expression"},
        {"'+'", operator_group, "an operator"},
    };
    const char *texts[64], *grouped_texts[4];
    size_t n = 0, n_grouped = 0;
    bool used[4] = {false};
    for (size_t i = 0; i < x->n; i++) {
        const char *name = x->names[i];
        bool grouped = false;
        for (size_t g = 0; g < 4 && !grouped; g++) {
            if (!expects(x, groups[g].member) || !is_among(name, groups[g].group))
                continue;
            grouped = true;
            if (!used[g])
                grouped_texts[n_grouped++] = groups[g].name;
            used[g] = true;
        }
        if (!grouped && n < 60)
            texts[n++] = strcmp(name, "name") == 0     ? "a name"
                         : strcmp(name, "string") == 0 ? "a string"
                                                       : name;
    }
    for (size_t i = 0; i < n_grouped; i++)
        texts[n++] = grouped_texts[i];
    for (size_t i = 1; i < n;
         i++) { /* closing brackets come first: most often they are what is missing */
        const char *t = texts[i];
        if (strcmp(t, "')'") != 0 && strcmp(t, "']'") != 0)
            continue;
        memmove(&texts[1], &texts[0], i * sizeof texts[0]);
        texts[0] = t;
    }
    for (size_t i = 0; i < n; i++) {
        sb_puts(out, i ? " or " : ", expected ");
        sb_puts(out, texts[i]);
    }
}

/* ---- what was found ---- */

static const char *found_text(parse_ctx *pc, const char *alias, const token *t)
{
    switch (t->kind) {
    case 0:
        return "end of file";
    case TOK_SEP:
        return t->v.text;
    case TOK_NAME:
    case TOK_KIND:
        return arena_printf(pc->a, strlen(t->v.name.s) > 40 ? "name '%.40s...'" : "name '%s'",
                            t->v.name.s);
    case TOK_INT:
    case TOK_NUMBER: {
        int n = (int)(t->at.hi - t->at.lo);
        return arena_printf(pc->a, n > 40 ? "number %.*s..." : "number %.*s", n > 40 ? 40 : n,
                            pc->src->text + t->at.lo);
    }
    default:
        return alias;
    }
}

/* ---- hints ---- */

typedef struct habit {
    const char *word, *help;
} habit;

static const habit habits[] = {
    {"def", "a function begins with its kind: score, mask, encoder, recurrence, model or fn"},
    {"function", "a function begins with its kind: score, mask, encoder, recurrence, model or fn"},
    {"func", "a function begins with its kind: score, mask, encoder, recurrence, model or fn"},
    {"let", "an equation is written `name[i] = ...`, without a word before it"},
    {"var", "an equation is written `name[i] = ...`, without a word before it"},
    {"if", "a branch is written `a where condition else b`"},
    {"for", "an equation with a free index, `y[t] = ...`, defines every element"},
    {"while", "a recurrence is an equation that reads an earlier index, `h[t] = f(h[t-1])`"},
    {"include", "another file is read with `import \"file.attn\"`"},
    {"use", "another file is read with `import \"file.attn\"`"},
};

static const char *habit_help(const token *t)
{
    if (t->kind != TOK_NAME)
        return NULL;
    for (size_t i = 0; i < sizeof habits / sizeof habits[0]; i++) {
        if (strcmp(t->v.name.s, habits[i].word) == 0)
            return habits[i].help;
    }
    return NULL;
}

static const char *near_keyword(parse_ctx *pc, const token *t)
{
    static const char *const words[] = {
#define KEYWORD(text, token, when) text,
#include "frontend/keywords.def"
#undef KEYWORD
    };
    if (t->kind != TOK_NAME)
        return NULL;
    return str_nearest(pc->a, t->v.name.s, words, sizeof words / sizeof words[0]);
}

static bool is_reserved(int kind)
{
    return kind == TOK_AND || kind == TOK_OR || kind == TOK_NOT || kind == TOK_IN ||
           kind == TOK_WHERE || kind == TOK_ELSE || kind == TOK_RETURN || kind == TOK_UNTIL;
}

/* The closing bracket that is looked for, or NULL. */
static const char *wanted_closer(parse_ctx *pc, const expectation *x, span *opener)
{
    const char *closer = expects(x, "')'") ? "')'" : expects(x, "']'") ? "']'" : NULL;
    /* The line filter forgets the brackets where it ends the statement for want of a closing one;
     * the vector's memory still holds them. */
    size_t n = pc->brackets.n;
    if (pc->last.kind == TOK_RPAREN || pc->last.kind == TOK_RBRACKET)
        n++; /* the unexpected bracket has taken one away */
    if (!closer)
        return NULL;
    if (n == 0)
        n = pc->n_lost;
    if (n == 0 || n > pc->brackets.cap)
        return NULL;
    *opener = pc->brackets.v[n - 1];
    char want = closer[1] == ')' ? '(' : '[';
    return pc->src->text[opener->lo] == want ? closer : NULL;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_name(const token *t, const char *s)
{
    return t->kind == TOK_NAME && strcmp(t->v.name.s, s) == 0;
}

static bool is_kind_word(const token *t)
{
#define KEYWORD(text, token, when) || (TOK_##token == TOK_KIND && is_name(t, text))
    return false
#include "frontend/keywords.def"
        ;
#undef KEYWORD
}

static void add_hints(parse_ctx *pc, diag *d, const expectation *x)
{
    const token *t = &pc->last, *before = &pc->before;
    span opener;
    const char *closer = wanted_closer(pc, x, &opener);
    bool at_end = t->kind == TOK_SEP || t->kind == 0 || t->kind == TOK_LBRACE ||
                  t->kind == TOK_RBRACE || t->kind == TOK_RPAREN || t->kind == TOK_RBRACKET;
    const char *help = habit_help(t);
    if (!help)
        help = habit_help(before);

    if (closer && at_end)
        diag_note(d, opener, "this '%c' is not closed", pc->src->text[opener.lo]);
    else if (t->kind == TOK_EQ && expects(x, "'='"))
        diag_help(d, "an equation is written with a single `=`");
    else if (t->kind == TOK_ASSIGN && expects(x, "'=='"))
        diag_help(d, "equality is written `==`");
    else if (help)
        diag_help(d, "%s", help);
    else if (t->kind == TOK_LBRACE && pc->braces.n > 1)
        diag_help(d,
                  "only the body of a function stands in braces; parts are joined with `[a; b]`");
    else if (t->kind == TOK_COMMA && expects(x, "';'") && !expects(x, "','"))
        diag_help(d, "parts are joined with `;`, as in `[a; b]`");
    else if (t->kind == TOK_RBRACKET && before->kind != TOK_LBRACKET && expects(x, "';'") &&
             !expects(x, "']'"))
        diag_help(d, "a join has two parts or more: `[a; b]`; a single value needs no brackets");
    else if (t->kind == TOK_SEMI && expects(x, "','"))
        diag_help(d, "values are joined with `[a; b]`; arguments and indices are separated by `,`");
    else if (before->kind == TOK_DOT && before->at.lo > 0 &&
             is_digit(pc->src->text[before->at.lo - 1]))
        diag_help(d, "a real is written with a digit after the point: `1.0`");
    else if (is_reserved(t->kind) && expects(x, "name"))
        diag_help(d, "'%.*s' is a reserved word and cannot be a name", (int)(t->at.hi - t->at.lo),
                  pc->src->text + t->at.lo);
    else if (t->kind == TOK_SEP && expects(x, "'='") && !expects(x, "'+'"))
        diag_help(d,
                  "a statement is an equation, `name[i] = ...`; to give a result write `return`");
    else if (t->kind == TOK_KIND && pc->braces.n)
        diag_help(d, "functions stand side by side, not inside each other");
    else if (near_keyword(pc, before) && (t->kind == TOK_NAME || t->kind == TOK_STRING))
        diag_help(d, "did you mean `%s`?", near_keyword(pc, before));
    else if (expects(x, "declaration") && near_keyword(pc, t))
        diag_help(d, "did you mean `%s`?", near_keyword(pc, t));
    else if (expects(x, "declaration") && is_name(t, "import"))
        diag_help(d, "a file is named between double quotes: `import \"std/rnn.attn\"`");
    else if (expects(x, "declaration") && is_kind_word(t))
        diag_help(d, "a declaration goes on with its name, `%s name(...)`", t->v.name.s);
    else if (expects(x, "declaration") && t->kind == TOK_NAME)
        diag_help(d, "equations stand in the body of a function");
    else if (t->kind == TOK_RBRACE && expects(x, "declaration"))
        diag_help(d, "there is no open '{' for it");
}

void parse_report(parse_ctx *pc, const char *found, span at, const char *const *expected, size_t n)
{
    if (pc->gave_up)
        return; /* the end of the file here is of our own making */
    expectation x = {expected, n};
    strbuf text = {.a = pc->a};
    sb_printf(&text, "unexpected %s", found_text(pc, found, &pc->last));
    put_expected(&text, &x);
    diag *d = diag_error(pc->ds, at, "%s", sb_text(&text));
    add_hints(pc, d, &x);
}
