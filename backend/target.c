/* target.c: from a triple and a processor name to LLVM's target machine.
 *
 * The host is described by its feature list, never by its name alone: hypervisors and emulators
 * hide features that the name promises. Other names must be in the table below, since LLVM only
 * prints a warning for a name it does not know and goes on with something else. */
#include "backend/target.h"

#include <string.h>

#include "backend/session.h"

/* level: the x86-64 level of the psABI that the processor has; 0 on other machines. */
typedef struct cpu {
    const char *arch, *name;
    int level;
} cpu;

static const cpu cpus[] = {
    {"x86_64", "x86-64", 1},         {"x86_64", "x86-64-v2", 2},
    {"x86_64", "x86-64-v3", 3},      {"x86_64", "x86-64-v4", 4},
    {"x86_64", "nehalem", 2},        {"x86_64", "westmere", 2},
    {"x86_64", "sandybridge", 2},    {"x86_64", "ivybridge", 2},
    {"x86_64", "haswell", 3},        {"x86_64", "broadwell", 3},
    {"x86_64", "skylake", 3},        {"x86_64", "skylake-avx512", 4},
    {"x86_64", "cascadelake", 4},    {"x86_64", "cooperlake", 4},
    {"x86_64", "icelake-client", 4}, {"x86_64", "icelake-server", 4},
    {"x86_64", "tigerlake", 4},      {"x86_64", "rocketlake", 4},
    {"x86_64", "alderlake", 3},      {"x86_64", "sapphirerapids", 4},
    {"x86_64", "emeraldrapids", 4},  {"x86_64", "graniterapids", 4},
    {"x86_64", "btver2", 2},         {"x86_64", "bdver2", 2},
    {"x86_64", "znver1", 3},         {"x86_64", "znver2", 3},
    {"x86_64", "znver3", 3},         {"x86_64", "znver4", 4},
    {"aarch64", "generic", 0},       {"aarch64", "cortex-a53", 0},
    {"aarch64", "cortex-a57", 0},    {"aarch64", "cortex-a72", 0},
    {"aarch64", "cortex-a76", 0},    {"aarch64", "cortex-x1", 0},
    {"aarch64", "neoverse-n1", 0},   {"aarch64", "neoverse-n2", 0},
    {"aarch64", "neoverse-v1", 0},   {"aarch64", "neoverse-v2", 0},
    {"aarch64", "apple-m1", 0},      {"aarch64", "a64fx", 0},
};
enum { N_CPUS = sizeof cpus / sizeof cpus[0] };

/* What the levels add, for telling the level of a feature list. */
static const struct {
    int level;
    const char *feature;
} level_features[] = {
    {2, "cx16"},     {2, "popcnt"},   {2, "ssse3"},    {2, "sse4.1"},  {2, "sse4.2"},
    {3, "avx"},      {3, "avx2"},     {3, "bmi"},      {3, "bmi2"},    {3, "f16c"},
    {3, "fma"},      {3, "lzcnt"},    {3, "movbe"},    {4, "avx512f"}, {4, "avx512bw"},
    {4, "avx512cd"}, {4, "avx512dq"}, {4, "avx512vl"},
};

static bool has_feature(const char *list, const char *name)
{
    size_t n = strlen(name);
    for (const char *p = list; (p = strstr(p, name)) != NULL; p += n)
        if (p > list && p[-1] == '+' && (p[n] == ',' || p[n] == 0))
            return true;
    return false;
}

static int level_of(const char *features)
{
    int level = 4;
    for (size_t i = 0; i < sizeof level_features / sizeof level_features[0]; i++)
        if (level_features[i].level <= level && !has_feature(features, level_features[i].feature))
            level = level_features[i].level - 1;
    return level;
}

static const char *take_message(arena *a, char *message)
{
    const char *copy = arena_printf(a, "%s", message);
    LLVMDisposeMessage(message);
    return copy;
}

static const char *arch_of(arena *a, const char *triple)
{
    return arena_strndup(a, triple, strcspn(triple, "-"));
}

static const cpu *find_cpu(arena *a, const char *arch, const char *name, diags *ds)
{
    const char **known = ARENA_ARRAY(a, const char *, N_CPUS);
    size_t n = 0;
    for (size_t i = 0; i < N_CPUS; i++) {
        if (strcmp(cpus[i].arch, arch) != 0)
            continue;
        if (strcmp(cpus[i].name, name) == 0)
            return &cpus[i];
        known[n++] = cpus[i].name;
    }
    diag *d = diag_error(ds, (span){0}, "the processor '%s' is not known for %s", name, arch);
    const char *near = n > 0 ? str_nearest(a, name, known, n) : NULL;
    if (near)
        diag_help(d, "did you mean '%s'?", near);
    else if (strcmp(arch, "x86_64") == 0)
        diag_help(d, "use native, or a level such as x86-64-v3");
    else
        diag_help(d, "use native, or leave the processor out");
    return NULL;
}

/* The processor of a target that is not the host: what every machine of that kind has. */
static const char *default_cpu(const char *arch)
{
    return strcmp(arch, "x86_64") == 0 ? "x86-64-v2" : "generic";
}

static bool choose_cpu(target *t, arena *a, const backend_options *o, diags *ds)
{
    const char *host = take_message(a, LLVMGetDefaultTargetTriple());
    const char *host_arch = arch_of(a, host);
    const char *features = take_message(a, LLVMGetHostCPUFeatures());
    char *normal = LLVMNormalizeTargetTriple(o->triple ? o->triple : host);
    t->triple = take_message(a, normal);
    const char *arch = arch_of(a, t->triple);
    bool same_arch = strcmp(arch, host_arch) == 0;
    t->posix_elf = strstr(t->triple, "linux") != NULL || strstr(t->triple, "bsd") != NULL;

    int level;
    if (o->cpu == NULL && !same_arch) {
        t->cpu = default_cpu(arch);
        level = strcmp(arch, "x86_64") == 0 ? 2 : 0;
    } else if (o->cpu == NULL || strcmp(o->cpu, "native") == 0) {
        if (!same_arch) {
            diag *d = diag_error(ds, (span){0}, "native means this host (%s), but the target is %s",
                                 host_arch, arch);
            diag_help(d, "name the processor, e.g. %s", default_cpu(arch));
            return false;
        }
        t->cpu = take_message(a, LLVMGetHostCPUName());
        t->features = features;
        t->native = true;
        level = strcmp(arch, "x86_64") == 0 ? level_of(features) : 0;
    } else {
        const cpu *c = find_cpu(a, arch, o->cpu, ds);
        if (!c)
            return false;
        t->cpu = c->name;
        level = c->level;
    }
    bool x86 = strcmp(arch, "x86_64") == 0;
    bool general = strncmp(t->cpu, "x86-64", 6) == 0 || strcmp(t->cpu, "generic") == 0;
    t->runs_here = same_arch && strcmp(host, t->triple) == 0 &&
                   (t->native || (general && (!x86 || level <= level_of(features))));
    t->half = x86 ? level >= 3 : strcmp(arch, "aarch64") == 0;
    if (x86 && level >= 4)
        t->vector_width = "512";
    t->shape = MACHINE_SHAPE_DEFAULT;
    if (x86) {
        t->shape.vector_bytes = level >= 4 ? 64 : level >= 3 ? 32 : 16;
        t->shape.vector_regs = level >= 4 ? 32 : 16;
        t->shape.l2_bytes = level >= 4 ? 1 << 20 : 256 << 10;
    } else {
        t->shape.vector_regs = 32;
    }
    return true;
}

bool backend_shape(const backend_options *o, machine_shape *shape, diags *ds)
{
    target t = {.features = ""};
    session_start();
    if (!choose_cpu(&t, ds->a, o, ds))
        return false;
    *shape = t.shape;
    return true;
}

bool target_init(target *t, arena *a, const backend_options *o, diags *ds)
{
    session_start();
    *t = (target){.features = ""};
    if (!choose_cpu(t, a, o, ds))
        return false;
    LLVMTargetRef found;
    char *message = NULL;
    if (LLVMGetTargetFromTriple(t->triple, &found, &message)) {
        diag *d = diag_error(ds, (span){0}, "no code generator for the target '%s': %s", t->triple,
                             take_message(a, message));
        diag_help(d, "a target is written like x86_64-linux-gnu or aarch64-linux-gnu");
        return false;
    }
    static const LLVMCodeGenOptLevel levels[] = {LLVMCodeGenLevelNone, LLVMCodeGenLevelLess,
                                                 LLVMCodeGenLevelDefault,
                                                 LLVMCodeGenLevelAggressive};
    int level = o->level < 0 ? 0 : o->level > 3 ? 3 : o->level;
    t->machine = LLVMCreateTargetMachine(found, t->triple, t->cpu, t->features, levels[level],
                                         LLVMRelocPIC, LLVMCodeModelDefault);
    if (t->machine)
        t->layout = LLVMCreateTargetDataLayout(t->machine);
    if (!t->machine || LLVMPointerSize(t->layout) != 8 ||
        LLVMByteOrder(t->layout) != LLVMLittleEndian) {
        diag *d = diag_error(ds, (span){0}, "the target '%s' cannot be used", t->triple);
        diag_note(d, (span){0}, "compiled models need a 64-bit little-endian machine");
        target_done(t);
        return false;
    }
    return true;
}

void target_done(target *t)
{
    if (t->layout)
        LLVMDisposeTargetData(t->layout);
    if (t->machine)
        LLVMDisposeTargetMachine(t->machine);
    t->layout = NULL;
    t->machine = NULL;
}
