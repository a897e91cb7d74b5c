/*
 * cpu.c - the usable processors: affinity mask and control group quota (version 2, and version 1
 * at its usual place). What cannot be read sets no limit.
 */
#include "cpu.h"

#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int by_affinity(void)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        return CPU_COUNT(&set);
    /* More processors than the fixed-size set holds. */
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 && n < 65536 ? (int)n : 1;
}

static int lower(int limit, long long quota, long long period)
{
    if (quota <= 0 || period <= 0)
        return limit;
    long long n = quota / period + (quota % period != 0);
    return n < limit ? (int)n : limit;
}

/* First line of a small file, without the newline. */
static bool first_line(const char *path, char *line, int size)
{
    FILE *f = fopen(path, "re");
    if (!f)
        return false;
    bool got = fgets(line, size, f) != NULL;
    fclose(f);
    if (got)
        line[strcspn(line, "\n")] = '\0';
    return got;
}

static int by_cgroup2(int limit)
{
    char group[512] = "";
    FILE *f = fopen("/proc/self/cgroup", "re");
    if (!f)
        return limit;
    char line[512];
    while (fgets(line, sizeof line, f))
        if (strncmp(line, "0::/", 4) == 0) {
            line[strcspn(line, "\n")] = '\0';
            snprintf(group, sizeof group, "%s", line + 3);
        }
    fclose(f);
    /* The quota of every group up to the root holds. */
    for (;;) {
        char path[600];
        char text[64];
        long long quota;
        long long period;
        snprintf(path, sizeof path, "/sys/fs/cgroup%s/cpu.max", group);
        if (first_line(path, text, sizeof text) &&
            sscanf(text, "%lld %lld", &quota, &period) == 2) /* "max" is no number */
            limit = lower(limit, quota, period);
        char *slash = strrchr(group, '/');
        if (!slash)
            return limit;
        *slash = '\0';
    }
}

static int by_cgroup1(int limit)
{
    char text[64];
    long long quota;
    long long period;
    if (first_line("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", text, sizeof text) &&
        sscanf(text, "%lld", &quota) == 1 &&
        first_line("/sys/fs/cgroup/cpu/cpu.cfs_period_us", text, sizeof text) &&
        sscanf(text, "%lld", &period) == 1)
        limit = lower(limit, quota, period);
    return limit;
}

int attn_cpu_count(void)
{
    int n = by_cgroup1(by_cgroup2(by_affinity()));
    return n > 0 ? n : 1;
}
