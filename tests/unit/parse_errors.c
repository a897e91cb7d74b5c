/* parse_errors.c: every kind of syntax error: place, text and help. */
#include "parse_support.h"

static const struct {
    const char *name, *text;
    size_t n; /* bytes */
    const char *reports;
} cases[] = {
    {"missing )", "fn f() {\ny = (a + b\nz = c\n}\n", 28,
     "2:11: unexpected end of line, expected ')' or ',' or an operator\n"
     "  2:5: this '(' is not closed\n"},
    {"missing ) at the end", "fn f() {\ny = f(a\n}\n", 19,
     "2:8: unexpected '}', expected ')' or ',' or '=' or an operator\n"
     "  2:6: this '(' is not closed\n"},
    {"missing ]", "fn f() {\ny = x[t\nz = 1\n}\n", 25,
     "2:8: unexpected end of line, expected ']' or ',' or an operator\n"
     "  2:6: this '[' is not closed\n"},
    {"wrong closer", "fn f() {\ny = f(a]\n}\n", 20,
     "2:8: unexpected ']', expected ')' or ',' or '=' or an operator\n"
     "  2:6: this '(' is not closed\n"},
    {"extra )", "fn f() {\ny = a)\n}\n", 18,
     "2:6: unexpected ')', expected end of line or an operator\n"},
    {"param swallowed by a bracket", "fn f() {\ny = f(a,\nparam W: [H]\n}\n", 33,
     "2:9: unexpected end of line, expected ')' or an expression\n"
     "  2:6: this '(' is not closed\n"},
    {"== in an equation", "fn f() {\ny == 3\n}\n", 18,
     "2:3: unexpected '==', expected '[' or ',' or ':' or '='\n"
     "  help: an equation is written with a single `=`\n"},
    {"= in an expression", "fn f() {\ny = a where b = c\n}\n", 29,
     "2:15: unexpected '=', expected end of line or an operator\n"
     "  help: equality is written `==`\n"},
    {"comma join", "fn f() {\ny = [a, b]\n}\n", 22,
     "2:7: unexpected ',', expected ';' or an operator\n"
     "  help: parts are joined with `;`, as in `[a; b]`\n"},
    {"join of one", "fn f() {\ny = [a]\n}\n", 19,
     "2:7: unexpected ']', expected ';' or an operator\n"
     "  help: a join has two parts or more: `[a; b]`; a single value needs no brackets\n"},
    {"semicolon in parentheses", "fn f() {\ny = f(a; b)\n}\n", 23,
     "2:8: unexpected ';', expected ')' or ',' or '=' or an operator\n"
     "  help: values are joined with `[a; b]`; arguments and indices are separated by `,`\n"},
    {"braces in an expression", "fn f() {\ny = {1}\nz = 2 +\n}\n", 27,
     "2:5: unexpected '{', expected an expression\n"
     "  help: only the body of a function stands in braces; parts are joined with `[a; b]`\n"
     "3:8: unexpected '}', expected an expression\n"},
    {"if", "fn f() {\nif x > 0 { y = 2 }\nz = = 3\n}\n", 38,
     "2:4: unexpected name 'x', expected '[' or ',' or ':' or '='\n"
     "  help: a branch is written `a where condition else b`\n"
     "3:5: unexpected '=', expected an expression\n"},
    {"let", "fn f() {\nlet z = 4\n}\n", 21,
     "2:5: unexpected name 'z', expected '[' or ',' or ':' or '='\n"
     "  help: an equation is written `name[i] = ...`, without a word before it\n"},
    {"misspelt param", "fn f() {\nparm W: [H]\n}\n", 23,
     "2:6: unexpected name 'W', expected '[' or ',' or ':' or '='\n"
     "  help: did you mean `param`?\n"},
    {"expression statement", "fn f() {\nx[t]\n}\n", 16,
     "2:5: unexpected '}', expected ',' or '='\n"
     "  help: a statement is an equation, `name[i] = ...`; to give a result write `return`\n"},
    {"two values", "fn f() {\ny = a b\n}\n", 19,
     "2:7: unexpected name 'b', expected end of line or an operator\n"},
    {"reserved name", "fn f() {\nin = 3\n}\n", 18,
     "2:1: unexpected 'in', expected '}' or a statement\n"
     "  help: 'in' is a reserved word and cannot be a name\n"},
    {"reserved name in an expression", "fn f() {\ny = f(else)\n}\n", 23,
     "2:7: unexpected 'else', expected ')' or an expression\n"
     "  help: 'else' is a reserved word and cannot be a name\n"},
    {"point without digits", "fn f() {\ny = 1. + 2\n}\n", 22,
     "2:8: unexpected '+', expected a name\n"
     "  help: a real is written with a digit after the point: `1.0`\n"},
    {"number without a digit before", "fn f() {\ny = .5\n}\n", 18,
     "2:5: a number needs a digit before its point\n"
     "  help: write `0.5`\n"},
    {"name with a digit", "fn f() {\ny = 2H\n}\n", 18,
     "2:5: a name cannot begin with a digit\n"
     "  help: write a product as `2 * H`\n"},
    {"and", "fn f() {\ny = a && b\n}\n", 22,
     "2:7: there is no operator '&&'\n"
     "  help: write `and`\n"},
    {"or", "fn f() {\ny = a || b\n}\n", 22,
     "2:7: there is no operator '||'\n"
     "  help: write `or`\n"},
    {"not", "fn f() {\ny = !a\n}\n", 18,
     "2:5: there is no operator '!'\n"
     "  help: write `not`\n"},
    {"power", "fn f() {\ny = a ** b\n}\n", 22,
     "2:7: there is no operator '**'\n"
     "  help: a power is written `a ^ b`\n"},
    {":=", "fn f() {\ny := a\n}\n", 18,
     "2:3: there is no operator ':='\n"
     "  help: an equation is written with `=`\n"},
    {"=>", "fn f() => [T] {}\n", 17,
     "1:8: there is no operator '=>'\n"
     "  help: results follow `->`, a comparison is `>=`\n"},
    {"<>", "fn f() {\ny = a <> b\n}\n", 22,
     "2:7: there is no operator '<>'\n"
     "  help: unequal is written `!=`\n"},
    {"...", "fn f() {\ny = x[0...3]\n}\n", 24,
     "2:8: there is no operator '...'\n"
     "  help: a range is written `a..b`, both ends included\n"},
    {"+=", "fn f() {\ny += 1\n}\n", 18,
     "2:3: there is no operator '+='\n"
     "  help: an equation defines a value once: name the new one\n"},
    {"C comment", "fn f() {\n/* y */\n}\n", 19,
     "2:1: unexpected '/*'\n"
     "  help: a comment begins with '#' and ends with its line\n"},
    {"single quotes", "import 'a'\n", 11,
     "1:8: unexpected character \"'\"\n"
     "  help: strings stand between double quotes\n"},
    {"open string", "import \"abc\n", 12,
     "1:8: this string does not end on its line\n"
     "  help: close it with '\"'\n"},
    {"escape", "import \"a\\n\"\n", 13,
     "1:10: unknown escape in a string\n"
     "  help: only `\\\"` and `\\\\` are escapes\n"},
    {"stray character", "fn f() {\ny = a $ b\n}\n", 21, "2:7: unexpected character '$'\n"},
    {"multiplication sign", "fn f() {\ny = a \303\227 b\n}\n", 22,
     "2:7: unexpected character '\303\227' (U+00D7)\n"
     "  help: a product is written `a * b`, of matrices `A @ x`\n"},
    {"smart quotes", "import \342\200\234a\342\200\235\n", 15,
     "1:8: unexpected character '\342\200\234' (U+201C)\n"
     "  help: strings stand between plain double quotes\n"
     "1:10: unexpected character '\342\200\235' (U+201D)\n"
     "  help: strings stand between plain double quotes\n"},
    {"no-break space", "fn f() {\ny =\302\240a\n}\n", 18,
     "2:4: unexpected character U+00A0\n"
     "  help: this is a special blank: write a plain one\n"},
    {"integer too large", "fn f() {\ny = 9223372036854775808\n}\n", 35,
     "2:5: this integer does not fit 64 bits\n"
     "  help: write a real: `9223372036854775808.0`\n"},
    {"real too large", "fn f() {\ny = 1e999\n}\n", 21,
     "2:5: this number is larger than any double\n"
     "  help: write `inf` if infinity is meant\n"},
    {"unknown type", "fn f() {\nx: flot[T]\n}\n", 22,
     "2:4: 'flot' is not a type\n"
     "  help: before axes stands one of real, int, bool, f64, f32, f16, bf16, i64, i32, u8\n"},
    {"unknown bare type", "fn f(x: tensor, n: Int) {}\n", 27,
     "1:9: 'tensor' is not a type\n"
     "  help: a tensor is written `[tensor]`, a single value `real`, `int` or `bool`\n"
     "1:20: 'Int' is not a type\n"
     "  help: did you mean `int`?\n"},
    {"unknown type without a near one", "fn f(x: H) {}\n", 14,
     "1:9: 'H' is not a type\n"
     "  help: a tensor is written `[H]`, a single value `real`, `int` or `bool`\n"},
    {"no type", "fn f(x) {}\n", 11, "1:7: unexpected ')', expected '[' or ':'\n"},
    {"formals without a comma", "fn f(x: [T]\n  y: [T]) {\n}\n", 26,
     "2:3: unexpected name 'y', expected ')' or 'from' or ',' or '='\n"},
    {"header without )", "fn f(x: [T] -> [H] {\n  y = = 1\n}\n", 33,
     "1:13: unexpected '->', expected ')' or 'from' or ',' or '='\n"
     "2:7: unexpected '=', expected an expression\n"},
    {"no body", "fn f(x: [T])\nfn g() {}\n", 23,
     "1:13: unexpected end of line, expected '{' or '->'\n"},
    {"missing } before a declaration", "fn f() {\n  y = 1\nfn g() {\n  z = = 2\n}\n", 38,
     "3:1: a '}' is missing before the next declaration\n"
     "  1:8: this '{' is not closed\n"
     "4:7: unexpected '=', expected an expression\n"},
    {"missing } at the end", "fn f() {\n  y = 1\n", 17,
     "3:1: a '}' is missing before the end of the file\n"
     "  1:8: this '{' is not closed\n"},
    {"extra }", "fn f() {\n}\n}\nfn g() { y = = 1 }\n", 32,
     "3:1: unexpected '}', expected end of file or a declaration (score, mask, encoder, "
     "recurrence, model, fn, import, const, dim)\n"
     "  help: there is no open '{' for it\n"
     "4:14: unexpected '=', expected an expression\n"},
    {"misspelt kind", "recurence f() {\n  y = 1\n}\n", 26,
     "1:1: unexpected name 'recurence', expected end of file or a declaration (score, mask, "
     "encoder, recurrence, model, fn, import, const, dim)\n"
     "  help: did you mean `recurrence`?\n"},
    {"def", "def f(x) {\n  y = 1\n}\n", 21,
     "1:1: unexpected name 'def', expected end of file or a declaration (score, mask, encoder, "
     "recurrence, model, fn, import, const, dim)\n"
     "  help: a function begins with its kind: score, mask, encoder, recurrence, model or fn\n"},
    {"equation outside", "y = 1\nconst x = = 2\n", 20,
     "1:1: unexpected name 'y', expected end of file or a declaration (score, mask, encoder, "
     "recurrence, model, fn, import, const, dim)\n"
     "  help: equations stand in the body of a function\n"
     "2:11: unexpected '=', expected an expression\n"},
    {"import without quotes", "import std\n", 11,
     "1:1: unexpected name 'import', expected end of file or a declaration (score, mask, encoder, "
     "recurrence, model, fn, import, const, dim)\n"
     "  help: a file is named between double quotes: `import \"std/rnn.attn\"`\n"},
    {"two independent errors", "const a = \nconst b = +\nfn f() { y = 1 1; z = ) }\n", 49,
     "1:10: unexpected end of line, expected an expression\n"
     "2:11: unexpected '+', expected an expression\n"
     "3:16: unexpected number 1, expected end of line or an operator\n"
     "3:23: unexpected ')', expected an expression\n"},
    {"recovery within a line", "fn f() {\ny = ); z = 1; w = (\n}\n", 31,
     "2:5: unexpected ')', expected an expression\n"
     "2:20: unexpected '}', expected an expression\n"},
    {"only a kind", "model\n", 6,
     "1:1: unexpected name 'model', expected end of file or a declaration (score, mask, encoder, "
     "recurrence, model, fn, import, const, dim)\n"
     "  help: a declaration goes on with its name, `model name(...)`\n"},
    {"NUL", "fn f() {\n  y = a\000b\n}\n", 21, "2:8: a NUL byte is not allowed\n"},
    {"control character", "fn f() { y = \001 }\n", 17,
     "1:14: a control character is not allowed\n"
     "1:13: unexpected '}', expected an expression\n"},
    {"invalid UTF-8", "# \377\376\nconst x = 1\n", 17, "1:3: this is not valid UTF-8\n"},
    {"lone carriage return", "const x = 1\015const y = 2\n", 24,
     "1:12: a carriage return without a line feed is not allowed\n"},
    {"direction of text", "# \342\200\256\n", 6,
     "1:3: a character that changes the direction of text is not allowed\n"},
    {"UTF-16", "\377\376c\000o\000n\000s\000t\000 \000x\000 \000=\000 \0001\000", 24,
     "1:1: this file is not UTF-8 text\n"
     "  help: it looks like UTF-16: save it as UTF-8\n"},
};

START_TEST(reports)
{
    parsed p;
    parse_bytes(&p, cases[_i].text, cases[_i].n);
    ck_assert_msg(strcmp(parsed_reports(&p), cases[_i].reports) == 0, "%s:\n%sinstead of\n%s",
                  cases[_i].name, parsed_reports(&p), cases[_i].reports);
    parsed_free(&p);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("parse_errors");
    TCase *c = tcase_create("errors");
    tcase_add_loop_test(c, reports, 0, (int)(sizeof cases / sizeof cases[0]));
    suite_add_tcase(s, c);
    return run_suite(s);
}
