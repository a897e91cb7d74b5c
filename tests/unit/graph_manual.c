/* graph_manual.c FILE: the graphs shown in IR.md are exactly what the printer gives for them. */
#include <stdio.h>
#include <stdlib.h>

#include "graph_support.h"

static char *read_file(fixture *s, const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        return NULL;
    strbuf b = {.a = s->a};
    char part[4096];
    for (size_t n; (n = fread(part, 1, sizeof part, f)) > 0;)
        sb_putn(&b, part, n);
    fclose(f);
    sb_puts(&b, "");
    return b.s;
}

/* The next indented text that begins with `graph @`, four blanks taken away; NULL after the last.
 */
static const char *next_graph(fixture *s, const char **at)
{
    const char *start = strstr(*at, "\n    graph @");
    strbuf b = {.a = s->a};
    if (!start)
        return NULL;
    for (start++; strncmp(start, "    ", 4) == 0;) {
        size_t n = strcspn(start, "\n");
        sb_putn(&b, start + 4, n - 4);
        sb_puts(&b, "\n");
        start += n + (start[n] == '\n');
    }
    *at = start;
    return sb_text(&b);
}

int main(int argc, char **argv)
{
    fixture s;
    open_fixture(&s);
    const char *at = argc > 1 ? read_file(&s, argv[1]) : NULL;
    int n = 0, failed = 0;
    for (const char *text; at && (text = next_graph(&s, &at)) != NULL; n++) {
        module *m =
            module_parse(s.a, s.names, &s.ds, source_add(&s.sources, "IR.md", text, strlen(text)));
        const char *printed = m ? print_one(&s, m->graphs.v[0]) : "(not at all)\n";
        if (strcmp(text, printed) != 0) {
            printf("the manual shows\n%sbut it prints as\n%s", text, printed);
            failed++;
        }
    }
    diags_print(&s.ds, stdout, false);
    close_fixture(&s);
    if (n < 2)
        printf("found %d graphs in %s, expected two or more\n", n,
               argc > 1 ? argv[1] : "(no file)");
    return n < 2 || failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
