/* Clocks, memory, and the work that load programs and infrastructure experiments share. `fail` is the program's own. */

/* A unit of work is the same code in every program: neither specialised for its callers nor placed by them. */
#ifdef __clang__
#define KERNEL __attribute__((noinline, aligned(64), unused))
#else
#define KERNEL __attribute__((noipa, aligned(64), unused))
#endif
#define SHARED static __attribute__((unused))

enum { LINE = 64, HUGE_PAGE = 2 << 20 };

_Noreturn static void fail(const char *what);

SHARED uint64_t clock_of(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

SHARED inline uint64_t now(void)
{
    return clock_of(CLOCK_MONOTONIC);
}

SHARED inline uint64_t cpu_time(void)
{
    return clock_of(CLOCK_THREAD_CPUTIME_ID);
}

SHARED void sleep_until(uint64_t time)
{
    struct timespec until = {(time_t)(time / 1000000000u), (long)(time % 1000000000u)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR) {
    }
}

SHARED uint64_t random_number(uint64_t *state) /* xorshift64* of Marsaglia and Vigna */
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 0x2545F4914F6CDD1Du;
}

/* Touched memory; what has room for huge pages is aligned to them, and without any small pages do. */
SHARED void *memory(size_t bytes)
{
    size_t slack = bytes < HUGE_PAGE ? 0 : HUGE_PAGE;
    char *found = mmap(NULL, bytes + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (found == MAP_FAILED)
        fail("cannot allocate memory");
    if (slack)
        found += -(uintptr_t)found & (HUGE_PAGE - 1);
    madvise(found, bytes, MADV_HUGEPAGE);
    memset(found, 0, bytes);
    return found;
}

SHARED void shuffle(uint32_t *order, size_t count, uint64_t *state)
{
    for (size_t i = 0; i < count; i++)
        order[i] = (uint32_t)i;
    for (size_t i = count; i > 1; i--) {
        size_t other = random_number(state) % i;
        uint32_t kept = order[i - 1];
        order[i - 1] = order[other];
        order[other] = kept;
    }
}

/* The first line of a cycle through the lines of a buffer: each holds the address of the next. The lines of a block
   follow each other, in random order, and so do the blocks: a block of a page spares the TLB. */
SHARED void **cycle(char *buffer, size_t bytes, size_t block)
{
    size_t own = (block < bytes ? block : bytes) / LINE, blocks = bytes / LINE / own;
    uint32_t *turns = memory(blocks * sizeof *turns), *order = memory(own * sizeof *order);
    uint64_t state = 88172645463325252u;
    void **first = NULL, **last = NULL;
    shuffle(turns, blocks, &state);
    for (size_t turn = 0; turn < blocks; turn++) {
        shuffle(order, own, &state);
        for (size_t i = 0; i < own; i++) {
            void **line = (void **)(buffer + (turns[turn] * own + order[i]) * LINE);
            if (last)
                *last = line;
            else
                first = line;
            last = line;
        }
    }
    *last = first;
    munmap(turns, blocks * sizeof *turns);
    munmap(order, own * sizeof *order);
    return first;
}

static KERNEL void **walk(void **place, uint64_t steps)
{
    for (uint64_t step = 0; step < steps; step++)
        place = *place;
    return place;
}

struct triad {
    double *a, *b, *c;
    size_t length;
};

SHARED struct triad triad(size_t bytes)
{
    struct triad made = {NULL, NULL, NULL, bytes / (3 * sizeof(double))};
    made.a = memory(made.length * sizeof(double));
    made.b = memory(made.length * sizeof(double));
    made.c = memory(made.length * sizeof(double));
    for (size_t i = 0; i < made.length; i++)
        made.b[i] = 1.0, made.c[i] = 2.0;
    return made;
}

static KERNEL void pass_triad(const struct triad *over, double factor)
{
    double *restrict a = over->a;
    const double *restrict b = over->b, *restrict c = over->c;
    for (size_t i = 0; i < over->length; i++)
        a[i] = b[i] + factor * c[i];
}
