/* parse_lex.c: what the grammar reads: raw tokens with statement ends put in and words sorted out.
 *
 * THE rule of newlines. A newline ends a statement (as a SEP token) unless
 *   - it stands inside ( ) or [ ], or
 *   - the token before it cannot end a statement (an operator, a comma, `=`, `->`, `else`, `where`,
 * `in`, an opening bracket, ...), or
 *   - the token after it cannot begin one: only a name, `(`, `[`, `}` and the words that begin
 * statements and declarations can. So a line may begin with an operator, `else`, `where`, `->`,
 * `from "..."`,
 *     `=` or `{` to go on with the line before.
 * `;` outside ( ) and [ ] is a SEP as well. A SEP also stands before every `}` and every
 * declaration and at the end of the file, so that each statement ends in one.
 *
 * A bracket that is never closed would swallow the rest of the file. Inside brackets a SEP is
 * therefore given where the file cannot be right any more and a statement seems to begin: at a line
 * that begins with a statement word (there also outside brackets, whatever stands before), or with
 * a name although the line before needs no more. */
#include <string.h>

#include "frontend/parse_ctx.h"
#define ATTN_STYPE parse_value
#include "parse.h"

typedef enum when { ALWAYS, BEFORE_NAME, BEFORE_STRING } when;

typedef struct keyword {
    const char *text;
    int token;
    when when;
} keyword;

static const keyword keywords[] = {
#define KEYWORD(text, token, when) {text, TOK_##token, when},
#include "frontend/keywords.def"
#undef KEYWORD
};

void parse_open(parse_ctx *pc, arena *a, strtab *names, diags *ds, uint32_t file)
{
    *pc = (parse_ctx){.a = a, .names = names, .ds = ds, .file = file};
    pc->src = ds->sources->files.v[file];
    scan_open(pc, parse_clean_text(pc), pc->src->size);
}

static const token *peek(parse_ctx *pc, int k)
{
    while (pc->n_ahead <= k) {
        token *t = &pc->ahead[pc->n_ahead++];
        *t = (token){0};
        pc->newline = false;
        t->kind = scan_token(&t->v, &t->at, pc->scanner);
        t->newline = pc->newline;
        if (t->kind == 0)
            t->at = (span){pc->file, pc->src->size, pc->src->size};
    }
    return &pc->ahead[k];
}

/* The token kind of a word where it stands. */
static int word_kind(parse_ctx *pc, const token *t)
{
    for (size_t i = 0; i < sizeof keywords / sizeof keywords[0]; i++) {
        const keyword *k = &keywords[i];
        if (k->text[0] != t->v.name.s[0] || strcmp(k->text, t->v.name.s) != 0)
            continue;
        if (k->when == ALWAYS)
            return k->token;
        int last = pc->last.kind;
        bool first =
            t->newline || last == 0 || last == TOK_SEP || last == TOK_LBRACE || last == TOK_RBRACE;
        int next = peek(pc, 1)->kind;
        if (k->when == BEFORE_STRING)
            /* What is no token is most likely a string in other quotes. */
            return (next == TOK_STRING || next == TOK_ATTN_error) && (first || k->token == TOK_FROM)
                       ? k->token
                       : TOK_NAME;
        return first && next == TOK_NAME && !peek(pc, 1)->newline ? k->token : TOK_NAME;
    }
    return TOK_NAME;
}

static bool can_end(int kind)
{
    switch (kind) {
    case TOK_NAME:
    case TOK_INT:
    case TOK_NUMBER:
    case TOK_STRING:
    case TOK_RPAREN:
    case TOK_RBRACKET:
    case TOK_RBRACE:
    case TOK_ATTN_error:
        return true;
    default:
        return false;
    }
}

static bool is_statement_word(int kind)
{
    switch (kind) {
    case TOK_CONST:
    case TOK_DIM:
    case TOK_PARAM:
    case TOK_PART:
    case TOK_RETURN:
    case TOK_UNTIL:
    case TOK_IMPORT:
    case TOK_KIND:
        return true;
    default:
        return false;
    }
}

static bool can_begin(int kind)
{
    switch (kind) {
    case TOK_NAME:
    case TOK_LPAREN:
    case TOK_LBRACKET:
    case TOK_ATTN_error:
        return true;
    default:
        return is_statement_word(kind);
    }
}

/* Hands a token that stands nowhere in the source to the grammar, just behind the last one. */
static token made_up(parse_ctx *pc, int kind, const char *text)
{
    uint32_t at = pc->last.at.hi;
    return (token){.kind = kind, .at = {pc->file, at, at}, .v.text = text};
}

static token end_statement(parse_ctx *pc, const char *text)
{
    pc->n_lost = pc->brackets.n;
    pc->brackets.n = 0;
    return made_up(pc, TOK_SEP, text);
}

static token close_brace(parse_ctx *pc, span at, const char *before)
{
    diag *d = diag_error(pc->ds, at, "a '}' is missing before %s", before);
    diag_note(d, vec_last(&pc->braces), "this '{' is not closed");
    return made_up(pc, TOK_RBRACE, NULL);
}

/* The next token: a made-up one, or the next of the source, which is then taken. */
static token choose(parse_ctx *pc)
{
    token t = *peek(pc, 0);
    int last = pc->last.kind;
    bool fresh = last == 0 || last == TOK_SEP; /* no statement to end */

    if (t.kind == TOK_NAME)
        t.kind = word_kind(pc, &t);
    if (t.kind == 0) {
        if (!fresh)
            return end_statement(pc, "end of file");
        return pc->braces.n ? close_brace(pc, t.at, "the end of the file") : t;
    }
    if (t.kind == TOK_KIND) {
        if (!fresh)
            return end_statement(pc, "end of line");
        int third = peek(pc, 2)->kind;
        if (pc->braces.n && (third == TOK_LPAREN || third == TOK_LBRACKET))
            return close_brace(pc, t.at, "the next declaration");
    }
    if (t.kind == TOK_RBRACE && !fresh && last != TOK_LBRACE)
        return end_statement(pc, "'}'");
    if (t.newline && !fresh) {
        bool ended = can_end(last) && can_begin(t.kind);
        bool inside = pc->brackets.n > 0;
        if (is_statement_word(t.kind) ||
            (ended && (!inside || (t.kind == TOK_NAME && !pc->in_header))))
            return end_statement(pc, "end of line");
    }
    if (t.kind == TOK_SEMI && pc->brackets.n == 0) {
        t.kind = TOK_SEP;
        t.v.text = "';'";
    }
    pc->n_ahead--;
    memmove(&pc->ahead[0], &pc->ahead[1], (size_t)pc->n_ahead * sizeof pc->ahead[0]);
    return t;
}

static void keep_track(parse_ctx *pc, const token *t)
{
    if (t->kind != TOK_SEP)
        pc->n_lost = 0;
    switch (t->kind) {
    case TOK_LPAREN:
    case TOK_LBRACKET:
        if (pc->brackets.n == MAX_NESTING) {
            diag *d = diag_error(pc->ds, t->at, "brackets nested deeper than %d", MAX_NESTING);
            diag_help(d, "split the expression with a name");
            pc->gave_up = true;
        }
        vec_push(pc->a, &pc->brackets, t->at);
        break;
    case TOK_RPAREN:
    case TOK_RBRACKET:
        if (pc->brackets.n)
            pc->brackets.n--;
        break;
    case TOK_LBRACE:
        pc->n_lost = pc->brackets.n;
        pc->brackets.n = 0;
        pc->in_header = false;
        vec_push(pc->a, &pc->braces, t->at);
        break;
    case TOK_RBRACE:
        pc->brackets.n = 0;
        if (pc->braces.n)
            pc->braces.n--;
        break;
    case TOK_KIND:
        pc->in_header = true;
        break;
    case TOK_SEP:
        pc->in_header = false;
        break;
    default:
        break;
    }
}

int attn_lex(parse_value *v, span *at, parse_ctx *pc)
{
    token t = {.at = {pc->file, pc->src->size, pc->src->size}};
    if (!pc->gave_up) {
        t = choose(pc);
        keep_track(pc, &t);
    }
    if (pc->gave_up)
        t.kind = 0;
    pc->before = pc->last;
    pc->last = t;
    *v = t.v;
    *at = t.at;
    return t.kind;
}
