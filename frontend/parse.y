/* parse.y: the grammar of .attn files. Actions build the tree and nothing else.
 *
 * Every statement and every declaration without a body ends in a SEP; parse_lex.c decides where one
 * stands. Values live on an arena, so nothing needs a %destructor.
 *
 * Errors are recovered at the end of the statement, and of a declaration at its body or at the next
 * declaration. There are no inner recovery rules on purpose: they run over the end of the statement
 * and hide what comes after. */
%require "3.8"
%expect 0
%define api.prefix {attn_}
%define api.pure full
%define api.location.type {span}
%define api.value.type {union parse_value}
%define api.token.prefix {TOK_}
%define parse.error custom
%define parse.lac full
%define parse.trace
%locations
%lex-param   {parse_ctx *pc}
%parse-param {parse_ctx *pc}

%code requires {
#include "frontend/parse_ctx.h"
}

%code {
/* Stacks come from the arena: a failed allocation leaves the parser by longjmp. The stack that
 * LAC explores on is out of reach of the parser's arguments; it meets this constant instead, and is
 * told that there is no memory should the 20 states it begins with ever not do. */
static parse_ctx *const pc = NULL;
#define YYMALLOC(n) (pc ? arena_alloc(pc->a, (size_t)(n)) : NULL)
#define YYFREE(p) ((void)(p))
/* The rules below nest at most about 15 states for each bracket. */
#define YYMAXDEPTH 40000
#define YYINITDEPTH 400
#define YYLLOC_DEFAULT(cur, rhs, n)                                                                \
    ((cur) = (n) ? span_join(YYRHSLOC(rhs, 1), YYRHSLOC(rhs, n))                                   \
                 : (span){YYRHSLOC(rhs, 0).file, YYRHSLOC(rhs, 0).hi, YYRHSLOC(rhs, 0).hi})

#define NEW_LIST(T) ARENA_NEW(pc->a, T)
#define AXES(k, where, list) ((ast_axis){.kind = k, .at = where, .n = list->n, .parts = list->v})
#define COPY(x) arena_copy(pc->a, &(x), sizeof(x))
#define PUSH(list, x) vec_push(pc->a, (list), (x))

static void attn_error(const span *at, parse_ctx *pc, const char *text);
}

%token <name> NAME "name" KIND "declaration" STRING "string"
%token <integer> INT "integer"
%token <real> NUMBER "number"
%token <text> SEP "end of line"
%token CONST "'const'" DIM "'dim'" PARAM "'param'" PART "'part'" IMPORT "'import'" FROM "'from'"
%token RETURN "'return'" UNTIL "'until'"
%token WHERE "'where'" ELSE "'else'" IN "'in'" AND "'and'" OR "'or'" NOT "'not'"
%token LPAREN "'('" RPAREN "')'" LBRACKET "'['" RBRACKET "']'" LBRACE "'{'" RBRACE "'}'"
%token COMMA "','" SEMI "';'" COLON "':'" DOT "'.'" DOTDOT "'..'" ARROW "'->'" ASSIGN "'='"
%token PLUS "'+'" MINUS "'-'" STAR "'*'" SLASH "'/'" FLOORDIV "'//'" PERCENT "'%'" AT "'@'"
%token POW "'^'"
%token EQ "'=='" NE "'!='" LT "'<'" LE "'<='" GT "'>'" GE "'>='"

%type <expr> expr or and not cmp sum term unary power postfix primary
%type <expr> dim_sum dim_term dim_unary dim_power dim_primary
%type <exprs> exprs parts tuple dims
%type <chain> chain
%type <op> cmp_op add_op mul_op
%type <args> args arg_list
%type <arg> arg
%type <index> index family
%type <items> items
%type <item> item
%type <type> type
%type <axes> axes packed joined
%type <axis> axis
%type <targets> targets target_list target_parts
%type <target> target
%type <families> families
%type <name> from
%type <names> batch names
%type <formals> formals formal_list
%type <formal> formal
%type <expr> default
%type <stmt> stmt constant
%type <stmts> stmts block
%type <decl> simple_decl func header

%%

/* ---- declarations ---- */

file:
  %empty
| file SEP
| file simple_decl SEP  { PUSH(&pc->decls, $2); }
| file func             { PUSH(&pc->decls, $2); }
| file KIND error SEP   { yyerrok; }
| file KIND error block { yyerrok; }
| file error SEP        { yyerrok; }
| file error block      { yyerrok; }
;

simple_decl:
  IMPORT STRING { $$ = mk_decl(pc, DECL_IMPORT, @$); $$->name = $2; }
| constant      { $$ = mk_decl(pc, DECL_CONST, @$); $$->name = $1->names[0];
                  $$->e = $1->e; $$->is_dim = $1->is_dim; }
| header ASSIGN postfix { $$ = $1; $$->kind = DECL_ALIAS; $$->at = @$; $$->e = $3; }
;

header:
  KIND NAME batch { $$ = mk_decl(pc, DECL_FUNC, @$); $$->word = $1; $$->name = $2;
                    $$->n_batch = $3->n; $$->batch = $3->v; }
;

batch:
  %empty                          { $$ = NEW_LIST(name_list); }
| LBRACKET names RBRACKET         { $$ = $2; }
| LBRACKET names COMMA RBRACKET   { $$ = $2; }
;
names:
  NAME             { $$ = NEW_LIST(name_list); PUSH($$, $1); }
| names COMMA NAME { $$ = $1; PUSH($$, $3); }
;

func:
  header LPAREN formals RPAREN block
    { $$ = $1; $$->at = @$; $$->n_formals = $3->n; $$->formals = $3->v;
      $$->n_body = $5->n; $$->body = $5->v; }
| header LPAREN formals RPAREN ARROW type block
    { $$ = $1; $$->at = @$; $$->n_formals = $3->n; $$->formals = $3->v;
      $$->n_results = 1; $$->results = ARENA_NEW(pc->a, ast_formal);
      $$->results[0].at = @6; $$->results[0].type = *$6;
      $$->n_body = $7->n; $$->body = $7->v; }
| header LPAREN formals RPAREN ARROW LPAREN formal_list RPAREN block
    { $$ = $1; $$->at = @$; $$->n_formals = $3->n; $$->formals = $3->v;
      $$->n_results = $7->n; $$->results = $7->v; $$->results_named = true;
      $$->n_body = $9->n; $$->body = $9->v; }
| header LPAREN formals RPAREN ARROW LPAREN formal_list COMMA RPAREN block
    { $$ = $1; $$->at = @$; $$->n_formals = $3->n; $$->formals = $3->v;
      $$->n_results = $7->n; $$->results = $7->v; $$->results_named = true;
      $$->n_body = $10->n; $$->body = $10->v; }
;

formals:
  %empty            { $$ = NEW_LIST(formal_list); }
| formal_list
| formal_list COMMA { $$ = $1; }
;
formal_list:
  formal                   { $$ = NEW_LIST(formal_list); PUSH($$, $1); }
| formal_list COMMA formal { $$ = $1; PUSH($$, $3); }
;
formal:
  NAME family COLON type default from
    { $$ = (ast_formal){.name = $1, .at = @$, .index = $2, .type = *$4, .dflt = $5, .from = $6}; }
;
family:
  %empty                   { $$ = NULL; }
| LBRACKET index RBRACKET  { $$ = $2; }
;
default:
  %empty      { $$ = NULL; }
| ASSIGN expr { $$ = $2; }
;
from:
  %empty      { $$ = (ast_name){0}; }
| FROM STRING { $$ = $2; }
;

/* ---- statements ---- */

block:
  LBRACE stmts RBRACE { $$ = $2; }
;
stmts:
  %empty             { $$ = NEW_LIST(stmt_list); }
| stmts SEP
| stmts stmt SEP     { $$ = $1; PUSH($$, $2); }
| stmts error SEP    { $$ = $1; yyerrok; }
| stmts error block  { $$ = $1; yyerrok; }
;

stmt:
  constant
| NAME COLON type
    { $$ = mk_stmt(pc, STMT_DECL, @$); $$->n_names = 1; $$->names = COPY($1);
      $$->type = $3; }
| PARAM families COLON type from
    { $$ = mk_stmt(pc, STMT_PARAM, @$); $$->n_names = $2->names.n; $$->names = $2->names.v;
      $$->indices = $2->indices.v; $$->type = $4; $$->from = $5; }
| PART NAME family ASSIGN postfix from
    { $$ = mk_stmt(pc, STMT_PART, @$); $$->n_names = 1; $$->names = COPY($2);
      $$->indices = COPY($3); $$->e = $5; $$->from = $6; }
| RETURN exprs
    { $$ = mk_stmt(pc, STMT_RETURN, @$); $$->n_exprs = $2->n; $$->exprs = $2->v; }
| UNTIL expr
    { $$ = mk_stmt(pc, STMT_UNTIL, @$); $$->e = $2; }
| targets ASSIGN expr
    { $$ = mk_stmt(pc, STMT_EQ, @$); $$->n_targets = $1->n; $$->targets = $1->v; $$->e = $3; }
;

constant:
  CONST NAME ASSIGN expr
    { $$ = mk_stmt(pc, STMT_CONST, @$); $$->n_names = 1; $$->names = COPY($2);
      $$->e = $4; }
| DIM NAME ASSIGN expr
    { $$ = mk_stmt(pc, STMT_CONST, @$); $$->n_names = 1; $$->names = COPY($2);
      $$->e = $4; $$->is_dim = true; }
;

families:
  NAME family
    { $$ = NEW_LIST(family_list); PUSH(&$$->names, $1); PUSH(&$$->indices, $2); }
| families COMMA NAME family
    { $$ = $1; PUSH(&$$->names, $3); PUSH(&$$->indices, $4); }
;

targets:
  target_list
| LPAREN target_list RPAREN       { $$ = $2; }
| LPAREN target_list COMMA RPAREN { $$ = $2; }
;
target_list:
  target                   { $$ = NEW_LIST(target_list); PUSH($$, $1); }
| target_list COMMA target { $$ = $1; PUSH($$, $3); }
;
target:
  NAME family
    { $$ = (ast_target){.kind = TARGET_NAME, .at = @$, .name = $1, .index = $2}; }
| LBRACKET target_parts RBRACKET
    { $$ = (ast_target){.kind = TARGET_JOIN, .at = @$, .n = $2->n, .parts = $2->v}; }
;
target_parts:
  target SEMI target       { $$ = NEW_LIST(target_list); PUSH($$, $1); PUSH($$, $3); }
| target_parts SEMI target { $$ = $1; PUSH($$, $3); }
;

/* ---- types ---- */

type:
  LBRACKET axes RBRACKET            { $$ = mk_type(pc, NULL, $2, @$); }
| LBRACKET axes COMMA RBRACKET      { $$ = mk_type(pc, NULL, $2, @$); }
| NAME LBRACKET axes RBRACKET       { $$ = mk_type(pc, &$1, $3, @$); }
| NAME LBRACKET axes COMMA RBRACKET { $$ = mk_type(pc, &$1, $3, @$); }
| NAME                              { $$ = mk_type(pc, &$1, NULL, @$); }
;
axes:
  axis            { $$ = NEW_LIST(axis_list); PUSH($$, $1); }
| axes COMMA axis { $$ = $1; PUSH($$, $3); }
;
axis:
  dim_sum                    { $$ = (ast_axis){.kind = AXIS_DIM, .at = @$, .e = $1}; }
| LPAREN packed RPAREN       { $$ = AXES(AXIS_PACKED, @$, $2); }
| LPAREN packed COMMA RPAREN { $$ = AXES(AXIS_PACKED, @$, $2); }
| LPAREN joined RPAREN       { $$ = AXES(AXIS_JOINED, @$, $2); }
;
packed:
  axis COMMA axis   { $$ = NEW_LIST(axis_list); PUSH($$, $1); PUSH($$, $3); }
| packed COMMA axis { $$ = $1; PUSH($$, $3); }
;
joined:
  axis SEMI axis   { $$ = NEW_LIST(axis_list); PUSH($$, $1); PUSH($$, $3); }
| joined SEMI axis { $$ = $1; PUSH($$, $3); }
;

/* A dimension has a ladder of its own: `(N, K)` must not meet the tuples of expressions. */
dim_sum:
  dim_term
| dim_sum add_op dim_term { $$ = mk_pair(pc, AST_BINARY, $2, $1, $3, @$, @2); }
;
dim_term:
  dim_unary
| dim_term mul_op dim_unary { $$ = mk_pair(pc, AST_BINARY, $2, $1, $3, @$, @2); }
;
dim_unary:
  dim_power
| MINUS dim_unary { $$ = mk_unary(pc, OP_NEG, $2, @$); }
;
dim_power:
  dim_primary
| dim_primary POW dim_unary { $$ = mk_pair(pc, AST_BINARY, OP_POW, $1, $3, @$, @2); }
;
dim_primary:
  NAME                  { $$ = mk_expr(pc, AST_NAME, @$); $$->name = $1.s; }
| INT                   { $$ = mk_expr(pc, AST_INT, @$); $$->integer = $1; }
| LPAREN dim_sum RPAREN { $$ = $2; }
| NAME LPAREN dims RPAREN
    { ast_expr *f = mk_expr(pc, AST_NAME, @1);
      f->name = $1.s;
      arg_list *args = NEW_LIST(arg_list);
      for (size_t i = 0; i < $3->n; i++)
          PUSH(args, ((ast_arg){.e = $3->v[i]}));
      $$ = mk_call(pc, f, args, @$); }
;
dims:
  dim_sum            { $$ = NEW_LIST(expr_list); PUSH($$, $1); }
| dims COMMA dim_sum { $$ = $1; PUSH($$, $3); }
;

/* ---- expressions ---- */

exprs:
  expr             { $$ = NEW_LIST(expr_list); PUSH($$, $1); }
| exprs COMMA expr { $$ = $1; PUSH($$, $3); }
;

expr: /* where and else bind weakest */
  or
| or ELSE expr  { $$ = mk_pair(pc, AST_ELSE, OP_NONE, $1, $3, @$, @2); }
| or WHERE or   { $$ = mk_pair(pc, AST_WHERE, OP_NONE, $1, $3, @$, @2); }
| or WHERE or ELSE expr
    { ast_expr *w = mk_pair(pc, AST_WHERE, OP_NONE, $1, $3, span_join(@1, @3), @2);
      $$ = mk_pair(pc, AST_ELSE, OP_NONE, w, $5, @$, @4); }
;
or:
  and
| or OR and { $$ = mk_pair(pc, AST_BINARY, OP_OR, $1, $3, @$, @2); }
;
and:
  not
| and AND not { $$ = mk_pair(pc, AST_BINARY, OP_AND, $1, $3, @$, @2); }
;
not:
  cmp
| NOT not { $$ = mk_unary(pc, OP_NOT, $2, @$); }
;
cmp:
  sum
| chain { $$ = mk_chain(pc, $1, @$); }
;
chain:
  sum cmp_op sum
    { $$ = NEW_LIST(chain_list); PUSH(&$$->items, $1); PUSH(&$$->ops, $2); PUSH(&$$->items, $3); }
| chain cmp_op sum
    { $$ = $1; PUSH(&$$->ops, $2); PUSH(&$$->items, $3); }
;
cmp_op:
  EQ { $$ = OP_EQ; } | NE { $$ = OP_NE; } | LT { $$ = OP_LT; }
| LE { $$ = OP_LE; } | GT { $$ = OP_GT; } | GE { $$ = OP_GE; }
;
sum:
  term
| sum add_op term { $$ = mk_pair(pc, AST_BINARY, $2, $1, $3, @$, @2); }
;
add_op:
  PLUS { $$ = OP_ADD; } | MINUS { $$ = OP_SUB; }
;
term:
  unary
| term mul_op unary { $$ = mk_pair(pc, AST_BINARY, $2, $1, $3, @$, @2); }
;
mul_op:
  STAR { $$ = OP_MUL; } | SLASH { $$ = OP_DIV; } | FLOORDIV { $$ = OP_FLOORDIV; }
| PERCENT { $$ = OP_MOD; } | AT { $$ = OP_MATMUL; }
;
unary:
  power
| MINUS unary { $$ = mk_unary(pc, OP_NEG, $2, @$); }
;
power:
  postfix
| postfix POW unary { $$ = mk_pair(pc, AST_BINARY, OP_POW, $1, $3, @$, @2); }
;
postfix:
  primary
| postfix LBRACKET index RBRACKET { $$ = mk_index(pc, $1, $3, @$); }
| postfix LPAREN args RPAREN      { $$ = mk_call(pc, $1, $3, @$); }
| postfix DOT NAME                { $$ = mk_field(pc, $1, $3, @$); }
;
primary:
  NAME                        { $$ = mk_expr(pc, AST_NAME, @$); $$->name = $1.s; }
| INT                         { $$ = mk_expr(pc, AST_INT, @$); $$->integer = $1; }
| NUMBER                      { $$ = mk_expr(pc, AST_NUMBER, @$); $$->real = $1; }
| LPAREN expr RPAREN          { $$ = $2; }
| LPAREN tuple RPAREN         { $$ = mk_list(pc, AST_TUPLE, $2, @$); }
| LPAREN tuple COMMA RPAREN   { $$ = mk_list(pc, AST_TUPLE, $2, @$); }
| LBRACKET parts RBRACKET     { $$ = mk_list(pc, AST_JOIN, $2, @$); }
;
tuple:
  expr COMMA expr  { $$ = NEW_LIST(expr_list); PUSH($$, $1); PUSH($$, $3); }
| tuple COMMA expr { $$ = $1; PUSH($$, $3); }
;
parts:
  expr SEMI expr  { $$ = NEW_LIST(expr_list); PUSH($$, $1); PUSH($$, $3); }
| parts SEMI expr { $$ = $1; PUSH($$, $3); }
;

args:
  %empty         { $$ = NEW_LIST(arg_list); }
| arg_list
| arg_list COMMA { $$ = $1; }
;
arg_list:
  arg                { $$ = NEW_LIST(arg_list); PUSH($$, $1); }
| arg_list COMMA arg { $$ = $1; PUSH($$, $3); }
;
arg:
  expr             { $$ = (ast_arg){.e = $1}; }
| NAME ASSIGN expr { $$ = (ast_arg){.name = $1, .e = $3}; }
;

/* Binder, subscript and boundary are one thing. */
index:
  items                { $$ = mk_index_list(pc, $1, NULL, @$); }
| items COMMA          { $$ = mk_index_list(pc, $1, NULL, @$); }
| items WHERE or       { $$ = mk_index_list(pc, $1, $3, @$); }
;
items:
  item             { $$ = NEW_LIST(item_list); PUSH($$, $1); }
| items COMMA item { $$ = $1; PUSH($$, $3); }
;
item:
  or             { $$ = (ast_item){.kind = AST_ITEM_EXPR, .at = @$, .e = $1}; }
| COLON          { $$ = (ast_item){.kind = AST_ITEM_ALL, .at = @$}; }
| sum DOTDOT sum { $$ = (ast_item){.kind = AST_ITEM_RANGE, .at = @$, .e = $1, .hi = $3}; }
| NAME IN sum    { $$ = (ast_item){.kind = AST_ITEM_IN, .at = @$, .name = $1, .e = $3}; }
| NAME IN sum DOTDOT sum
    { $$ = (ast_item){.kind = AST_ITEM_IN, .at = @$, .name = $1, .e = $3, .hi = $5}; }
;

%%

/* Syntax errors come through yyreport_syntax_error; what is left for this is a full stack. */
static void attn_error(const span *at, parse_ctx *pc, const char *text)
{
    (void)text;
    parse_too_deep(pc, *at);
    pc->gave_up = true;
}

static int yyreport_syntax_error(const yypcontext_t *ctx, parse_ctx *pc)
{
    if (pc->ds->n_errors >= (pc->ds->limit ? pc->ds->limit : 20)) { /* it is only counted */
        if (!pc->gave_up)
            diag_error(pc->ds, *yypcontext_location(ctx), "syntax error");
        return 0;
    }
    yysymbol_kind_t expected[YYNTOKENS];
    const char *names[YYNTOKENS];
    int n = yypcontext_expected_tokens(ctx, expected, YYNTOKENS);
    if (n < 0)
        return n;
    for (int i = 0; i < n; i++)
        names[i] = yysymbol_name(expected[i]);
    yysymbol_kind_t found = yypcontext_token(ctx);
    parse_report(pc, found == YYSYMBOL_YYEMPTY ? "end of file" : yysymbol_name(found),
                 *yypcontext_location(ctx), names, (size_t)n);
    return 0;
}
