/* A journal of records with an index: written, looked up and verified. Three of its configurations are faulty.
 *
 * When it is built: -DSYSTEM=DEBIAN|ALPINE|FREEBSD, -DLOCKING=NONE|MUTEX|SPIN, -DARENA=0|1.
 * When it is run: index=array|hash order=oldest|newest verify=end|each compress=none|rle
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DEBIAN 1
#define ALPINE 2
#define FREEBSD 3
#define NONE 1
#define MUTEX 2
#define SPIN 3

enum { RECORDS = 6000, PAYLOAD = 64, BUCKETS = 8192 };

/* Locks: one for the whole journal. */
#if LOCKING == MUTEX
#include <pthread.h>
typedef pthread_mutex_t lock_type;
#define LOCK_INITIALIZER PTHREAD_MUTEX_INITIALIZER
static void lock(lock_type *l) { pthread_mutex_lock(l); }
static void unlock(lock_type *l) { pthread_mutex_unlock(l); }
#elif LOCKING == SPIN
#include <stdatomic.h>
typedef atomic_flag lock_type;
static void lock(lock_type *l) { while (atomic_flag_test_and_set(l)) {} }
static void unlock(lock_type *l) { atomic_flag_clear(l); }
#else
typedef int lock_type;
#define LOCK_INITIALIZER 0
static void lock(lock_type *l) { *l = 1; }
static void unlock(lock_type *l) { *l = 0; }
#endif

/* Memory: from malloc, or from an arena that has a lock of its own (not with spin locks: the planted build fault). */
#if ARENA
static struct { lock_type lock; size_t used; char bytes[RECORDS * (PAYLOAD + 64)]; } arena = { LOCK_INITIALIZER, 0, {0} };
static void *allocate(size_t size)
{
    lock(&arena.lock);
    void *found = arena.bytes + arena.used;
    arena.used += (size + 15) / 16 * 16;
    unlock(&arena.lock);
    return found;
}
#else
static void *allocate(size_t size)
{
    void *found = malloc(size);
    if (!found) {
        perror("journal: cannot allocate");
        exit(1);
    }
    return found;
}
#endif

/* Space on disk: one system's file system refuses to reserve it (the planted fault of a platform). */
static int preallocate(size_t size)
{
#if SYSTEM == FREEBSD
    (void)size;
    errno = EINVAL;
    return -1;
#elif SYSTEM == ALPINE
    return size > 64u * 1024 * 1024 ? -1 : 0;
#else
    (void)size;
    return 0;
#endif
}

struct record {
    uint32_t key, sum;
    uint16_t length;
    unsigned char bytes[PAYLOAD];
};

static uint32_t crc(const unsigned char *bytes, size_t length)
{
    uint32_t sum = 0xffffffffu;
    for (size_t i = 0; i < length; i++) {
        sum ^= bytes[i];
        for (int bit = 0; bit < 8; bit++)
            sum = sum >> 1 ^ (0xedb88320u & -(sum & 1));
    }
    return ~sum;
}

static size_t run_lengths(const unsigned char *from, size_t length, unsigned char *to)
{
    size_t made = 0;
    for (size_t i = 0; i < length;) {
        size_t run = 1;
        while (i + run < length && run < 255 && from[i + run] == from[i])
            run++;
        if (made + 2 > PAYLOAD)
            return 0;
        to[made++] = (unsigned char)run;
        to[made++] = from[i];
        i += run;
    }
    return made;
}

static struct record *new_record(uint32_t key, int compress)
{
    unsigned char plain[PAYLOAD];
    for (size_t i = 0; i < PAYLOAD; i++)
        plain[i] = (unsigned char)(key * 2654435761u >> (i / 4));
    struct record *made = allocate(sizeof *made);
    made->key = key;
    size_t length = compress ? run_lengths(plain, PAYLOAD, made->bytes) : 0;
    if (!length)
        memcpy(made->bytes, plain, length = PAYLOAD);
    made->length = (uint16_t)length;
    made->sum = crc(made->bytes, length);
    return made;
}

static void check(const struct record *record)
{
    if (crc(record->bytes, record->length) != record->sum) {
        fprintf(stderr, "journal: record %u is damaged\n", record->key);
        exit(1);
    }
}

/* Index: a sorted array, or a hash table. Insertion returns the first record that moved, and their number. */
static struct record *sorted[RECORDS], *table[BUCKETS];
static size_t stored;

static struct record **insert_sorted(struct record *record, size_t *moved)
{
    size_t low = 0, high = stored;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (sorted[middle]->key < record->key)
            low = middle + 1;
        else
            high = middle;
    }
    memmove(sorted + low + 1, sorted + low, (stored - low) * sizeof *sorted);
    sorted[low] = record;
    *moved = stored++ - low;
    return sorted + low + 1;
}

static struct record **insert_hashed(struct record *record, size_t *moved)
{
    size_t place = record->key * 2654435761u % BUCKETS;
    while (table[place])
        place = (place + 1) % BUCKETS;
    table[place] = record;
    stored++;
    *moved = 0;
    return table;
}

static int chosen(int argc, char **argv, const char *wanted)
{
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], wanted))
            return 1;
    return 0;
}

int main(int argc, char **argv)
{
    int hashed = chosen(argc, argv, "index=hash"), newest = chosen(argc, argv, "order=newest");
    int each = chosen(argc, argv, "verify=each"), compress = chosen(argc, argv, "compress=rle");
    static lock_type whole;
    struct timespec began, ended;
    if (preallocate(RECORDS * sizeof(struct record))) {
        perror("journal: cannot reserve space for the journal");
        return 1;
    }
    clock_gettime(CLOCK_MONOTONIC, &began);
    for (uint32_t i = 0; i < RECORDS; i++) {
        size_t moved;
        struct record *record = new_record(newest ? RECORDS - i : i, compress);
        lock(&whole);
        struct record **first = hashed ? insert_hashed(record, &moved) : insert_sorted(record, &moved);
        for (size_t j = 0; each && j < moved; j++) /* all that moved: slow where most records do (the planted slowness) */
            check(first[j]);
        unlock(&whole);
    }
    for (size_t i = 0; i < (hashed ? BUCKETS : stored); i++)
        if (hashed ? table[i] != NULL : 1)
            check(hashed ? table[i] : sorted[i]);
    clock_gettime(CLOCK_MONOTONIC, &ended);
    double seconds = (double)(ended.tv_sec - began.tv_sec) + 1e-9 * (double)(ended.tv_nsec - began.tv_nsec);
    printf("seconds: %.6f\nrecords: %zu\n", seconds, stored);
    return 0;
}
