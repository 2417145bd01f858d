/* Kernels of the infrastructure experiments. Each writes its raw observations, a line for each: NAME: VALUE ...
   Inside measured parts there is no allocation, and no system call but the clock. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kernels.h"

enum { MOST_PROCESSES = 64, PAGE = 4096, MEBIBYTE = 1 << 20 };

_Noreturn static void fail(const char *what) {
    fprintf(stderr, "%s: %s\n", what, strerror(errno));
    exit(4);
}

_Noreturn static void bad(const char *what) {
    fprintf(stderr, "%s\n", what);
    exit(2);
}

static int64_t wall(void) { return (int64_t)now(); }

static int64_t cpu(void) { return (int64_t)cpu_time(); }

static void pin(int core) {
    cpu_set_t set;
    if (core < 0) {
        return;
    }
    CPU_ZERO(&set);
    CPU_SET(core, &set);
    if (sched_setaffinity(0, sizeof set, &set)) {
        fail("sched_setaffinity");
    }
}

static void use_policy(const char *name) {
    struct sched_param parameter = {0};
    int policy = SCHED_OTHER;
    if (!strncmp(name, "nice", 4)) {
        if (setpriority(PRIO_PROCESS, 0, atoi(name + 4))) {
            fail("setpriority");
        }
    } else if (!strcmp(name, "fifo") || !strcmp(name, "rr")) {
        policy = name[0] == 'f' ? SCHED_FIFO : SCHED_RR;
        parameter.sched_priority = 1;
    } else if (!strcmp(name, "batch")) {
        policy = SCHED_BATCH;
    } else if (strcmp(name, "other")) {
        bad("policies are other, batch, rr, fifo and nice with a number");
    }
    if (policy != SCHED_OTHER && sched_setscheduler(0, policy, &parameter)) {
        fail("sched_setscheduler");
    }
}

/* The policy of a process among names separated by `/`, the last of which is that of all further processes. */
static void use_own_policy(const char *names, int process) {
    char name[16];
    while (process-- > 0 && strchr(names, '/')) {
        names = strchr(names, '/') + 1;
    }
    snprintf(name, sizeof name, "%.*s", (int)strcspn(names, "/"), names);
    use_policy(name);
}

static void *map(size_t bytes, int flags) {
    void *found = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);
    if (found == MAP_FAILED) {
        fail("mmap");
    }
    return found;
}

static pid_t child(void) {
    pid_t pid = fork();
    if (pid < 0) {
        fail("fork");
    }
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
    }
    return pid;
}

static void wait_for_children(int children) {
    int status = 0;
    int worst = 0;
    while (children-- > 0) {
        if (wait(&status) < 0) {
            fail("wait");
        }
        if (!WIFEXITED(status) || WEXITSTATUS(status)) {
            worst = WIFEXITED(status) ? WEXITSTATUS(status) : 4;
        }
    }
    if (worst) {
        exit(worst);
    }
}

static void print_all(const char *name, const int64_t *values, int64_t count) {
    printf("%s:", name);
    for (int64_t i = 0; i < count; i++) {
        printf(" %" PRId64, values[i]);
    }
    printf("\n");
}

/* clock: cost of a reading in batches of 1000, and the steps between readings that differ. */
static void measure_clock(int batches) {
    static int64_t cost[10000], thread_cost[10000], steps[10000];
    int64_t sink = 0, start = wall(), cpu_before = cpu();
    if (batches > 10000) {
        bad("at most 10000 batches");
    }
    for (int b = -1; b < batches; b++) {
        int64_t from = wall();
        for (int i = 0; i < 1000; i++) {
            sink += wall();
        }
        int64_t between = wall();
        for (int i = 0; i < 1000; i++) {
            sink += cpu();
        }
        int64_t to = wall();
        int64_t before = wall(), after;
        while ((after = wall()) == before) {
        }
        if (b >= 0) {
            cost[b] = between - from;
            thread_cost[b] = to - between;
            steps[b] = after - before;
        }
    }
    int64_t window[] = {0, wall() - start, cpu() - cpu_before};
    print_all("window_ns", window, 3);
    print_all("cost_ps", cost, batches);
    print_all("thread_cost_ps", thread_cost, batches);
    print_all("step_ns", steps, batches);
    fprintf(stderr, "%s", sink == 1 ? " " : "");
}

struct spinner {
    int64_t started, ended, cpu_time, gaps;
};

/* spin: processes that read the clock for a time; gaps between readings, beyond a threshold, are interruptions. */
static void spin(int64_t duration, int core, const char *policy, int processes, int64_t threshold, int64_t most) {
    if (processes > MOST_PROCESSES) {
        bad("at most 64 processes");
    }
    struct spinner *spinners = map(sizeof *spinners * MOST_PROCESSES, MAP_SHARED);
    int64_t *starts = map(sizeof *starts * (size_t)(processes * most), MAP_SHARED);
    int64_t *lengths = map(sizeof *lengths * (size_t)(processes * most), MAP_SHARED);
    int64_t origin = wall() + 20000000 + processes * 2000000;
    for (int p = 0; p < processes; p++) {
        if (child()) {
            continue;
        }
        pin(core);
        use_own_policy(policy, p);
        int64_t *own_starts = starts + p * most, *own_lengths = lengths + p * most, gaps = 0;
        memset(own_starts, 0, sizeof *own_starts * (size_t)most);
        memset(own_lengths, 0, sizeof *own_lengths * (size_t)most);
        sleep_until((uint64_t)origin);
        int64_t cpu_before = cpu(), first = wall(), previous = first, end = origin + duration, at;
        do {
            at = wall();
            if (at - previous > threshold && gaps < most) {
                own_starts[gaps] = previous - origin;
                own_lengths[gaps++] = at - previous;
            }
            previous = at;
        } while (at < end);
        spinners[p] = (struct spinner){first - origin, at - origin, cpu() - cpu_before, gaps};
        _exit(0);
    }
    wait_for_children(processes);
    for (int p = 0; p < processes; p++) {
        int64_t summary[] = {spinners[p].started, spinners[p].ended, spinners[p].cpu_time};
        print_all("window_ns", summary, 3);
        print_all("gap_start_ns", starts + p * most, spinners[p].gaps);
        print_all("gap_ns", lengths + p * most, spinners[p].gaps);
    }
}

static uint64_t compute(uint64_t state, int64_t units) {
    for (int64_t i = 0; i < units; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
    }
    return state;
}

/* As compute, by eight states that do not wait for each other: it fills the units of a core. */
static uint64_t compute_wide(uint64_t state, int64_t units) {
    enum { STATES = 8 };
    uint64_t states[STATES], sum = 0;
    for (int s = 0; s < STATES; s++) {
        states[s] = state + 2 * (uint64_t)s;
    }
    for (int64_t i = 0; i < units; i++) {
        for (int s = 0; s < STATES; s++) {
            states[s] ^= states[s] << 13;
            states[s] ^= states[s] >> 7;
            states[s] ^= states[s] << 17;
        }
    }
    for (int s = 0; s < STATES; s++) {
        sum += states[s];
    }
    return sum | 1;
}

/* work: a process for each core repeats a fixed amount of work; wall time and CPU time of each repetition. */
static void work(int64_t duration, int64_t units, int processes, char **cores, const char *policy,
                 uint64_t (*computing)(uint64_t, int64_t)) {
    enum { MOST = 200000 };
    if (processes > MOST_PROCESSES) {
        bad("at most 64 processes");
    }
    int64_t *walls = map(sizeof *walls * (size_t)processes * MOST, MAP_SHARED);
    int64_t *cpus = map(sizeof *cpus * (size_t)processes * MOST, MAP_SHARED);
    int64_t *counts = map(sizeof *counts * MOST_PROCESSES, MAP_SHARED);
    int64_t origin = wall() + 20000000 + processes * 2000000;
    for (int p = 0; p < processes; p++) {
        if (child()) {
            continue;
        }
        pin(atoi(cores[p]));
        use_policy(policy);
        uint64_t state = 88172645463325252u;
        int64_t count = 0, end = origin + duration;
        sleep_until((uint64_t)origin);
        state = computing(state, units);
        int64_t before = wall(), cpu_before = cpu();
        do { /* once at least, however late it begins */
            state = computing(state, units);
            int64_t cpu_after = cpu(), after = wall();
            walls[(int64_t)p * MOST + count] = after - before;
            cpus[(int64_t)p * MOST + count++] = cpu_after - cpu_before;
            before = wall();
            cpu_before = cpu();
        } while (before < end && count < MOST);
        counts[p] = state ? count : 0;
        _exit(0);
    }
    wait_for_children(processes);
    for (int p = 0; p < processes; p++) {
        print_all("work_wall_ns", walls + (int64_t)p * MOST, counts[p]);
        print_all("work_cpu_ns", cpus + (int64_t)p * MOST, counts[p]);
    }
}

/* steps: rounds of a pause and of work; CPU time and start of each repetition. In every second part of a round, `every` ns
   long, a repetition is `percent` of the units; 0 ns: in none. */
static void steps(int rounds, int64_t pause, int64_t duration, int64_t units, int core, int64_t every, int percent) {
    enum { MOST = 100000 };
    static int64_t starts[MOST], cpus[MOST];
    uint64_t state = 88172645463325252u;
    pin(core);
    state = compute(state, units);
    for (int r = 0; r < rounds; r++) {
        sleep_until((uint64_t)(wall() + pause));
        int64_t from = wall(), at = from, count = 0;
        while (at < from + duration && count < MOST) {
            int64_t own = every && (at - from) / every % 2 ? units * percent / 100 : units, before = cpu();
            state = compute(state, own);
            cpus[count] = cpu() - before;
            starts[count++] = at - from;
            at = wall();
        }
        print_all("work_start_ns", starts, state ? count : 0);
        print_all("work_cpu_ns", cpus, count);
    }
}

/* wake: by how much a process that sleeps until a time runs after it; `slack` is what the timer may be late. */
static void wake(int count, int64_t interval, int core, int64_t slack) {
    enum { MOST = 100000 };
    static int64_t late[MOST];
    if (count > MOST) {
        bad("at most 100000 wake-ups");
    }
    pin(core);
    if (prctl(PR_SET_TIMERSLACK, slack)) {
        fail("PR_SET_TIMERSLACK");
    }
    sleep_until((uint64_t)(wall() + interval));
    int64_t from = wall(), cpu_before = cpu();
    for (int i = 0; i < count; i++) {
        int64_t until = wall() + interval;
        sleep_until((uint64_t)until);
        late[i] = wall() - until;
    }
    int64_t window[] = {0, wall() - from, cpu() - cpu_before};
    print_all("late_ns", late, count);
    print_all("window_ns", window, 3);
}

static void pass(int to, int from) {
    char byte = 0;
    if (write(to, &byte, 1) != 1 || read(from, &byte, 1) != 1) {
        fail("pass");
    }
}

/* Both kinds: who wakes another one is preempted by it, or waits for it. */
static int64_t switches(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_nvcsw + usage.ru_nivcsw;
}

/* switch: two processes on a core hand a byte to and fro by pipes; in turn, one hands as many bytes to itself. */
static void hand_over(int batches, int rounds, int core) {
    enum { MOST = 10000 };
    static int64_t trips[MOST], own[MOST];
    int there[2], back[2], self[2];
    if (batches > MOST) {
        bad("at most 10000 batches");
    }
    if (pipe(there) || pipe(back) || pipe(self)) {
        fail("pipe");
    }
    pin(core);
    int64_t *partner = map(2 * sizeof *partner, MAP_SHARED);
    if (!child()) {
        char byte;
        close(there[1]);
        int64_t before = cpu(), switched = switches();
        while (read(there[0], &byte, 1) == 1) {
            if (write(back[1], &byte, 1) != 1) {
                fail("write");
            }
        }
        partner[0] = cpu() - before;
        partner[1] = switches() - switched;
        _exit(0);
    }
    pass(there[1], back[0]);
    int64_t start = wall(), cpu_before = cpu(), switched = switches();
    for (int b = 0; b < batches; b++) {
        int64_t from = wall();
        for (int r = 0; r < rounds; r++) {
            pass(there[1], back[0]);
        }
        trips[b] = wall() - from;
        from = wall();
        for (int r = 0; r < 2 * rounds; r++) {
            pass(self[1], self[0]);
        }
        own[b] = wall() - from;
    }
    int64_t window[] = {0, wall() - start, cpu() - cpu_before};
    switched = switches() - switched;
    close(there[1]);
    wait_for_children(1);
    window[2] += partner[0];
    switched += partner[1];
    int64_t hands = 2 * (int64_t)rounds, all = hands * batches;
    print_all("trip_ns", trips, batches);
    print_all("own_ns", own, batches);
    print_all("hands", &hands, 1);
    print_all("all_hands", &all, 1);
    print_all("switches", &switched, 1);
    print_all("window_ns", window, 3);
}

struct spreading {
    int64_t freed, moved;
};

/* spread: two processes on a core are then permitted all cores: the time until one of them runs on another core. */
static void spread(int trials, int64_t limit, int core) {
    enum { MOST = 1000, SETTLE = 12000000 };
    static int64_t times[MOST];
    cpu_set_t all;
    if (trials > MOST) {
        bad("at most 1000 trials");
    }
    if (sched_getaffinity(0, sizeof all, &all)) {
        fail("sched_getaffinity");
    }
    volatile struct spreading *both = map(2 * sizeof *both, MAP_SHARED);
    for (int t = 0; t < trials; t++) {
        int64_t origin = wall() + 10000000;
        both[0].moved = both[1].moved = both[0].freed = both[1].freed = 0;
        for (int p = 0; p < 2; p++) {
            if (child()) {
                continue;
            }
            pin(core);
            sleep_until((uint64_t)origin);
            int64_t at = wall(), end = origin + SETTLE + limit;
            while (at < origin + SETTLE) {
                at = wall();
            }
            both[p].freed = at;
            if (sched_setaffinity(0, sizeof all, &all)) {
                fail("sched_setaffinity");
            }
            while (at < end && !both[0].moved && !both[1].moved) {
                at = wall();
                if (sched_getcpu() != core) {
                    both[p].moved = at;
                }
            }
            _exit(0);
        }
        wait_for_children(2);
        int64_t moved = both[0].moved && both[1].moved ? (both[0].moved < both[1].moved ? both[0].moved : both[1].moved)
                                                      : both[0].moved + both[1].moved;
        int64_t freed = both[0].freed < both[1].freed ? both[0].freed : both[1].freed;
        times[t] = moved ? moved - freed : limit;
    }
    print_all("spread_ns", times, trials);
}

/* chase: time of a dependent load in a cycle through all lines of a region, for regions of several sizes. */
static void chase(int64_t loads, int repetitions, int64_t block, int core, int sizes, char **bytes) {
    enum { MOST = 64 };
    int64_t times[MOST], largest = 0;
    if (repetitions > MOST) {
        bad("at most 64 repetitions");
    }
    for (int s = 0; s < sizes; s++) {
        largest = atoll(bytes[s]) > largest ? atoll(bytes[s]) : largest;
    }
    pin(core);
    char *region = memory((size_t)largest);
    for (int s = 0; s < sizes; s++) {
        int64_t size = atoll(bytes[s]);
        void **at = cycle(region, (size_t)size, (size_t)(block ? block : size));
        at = walk(at, (uint64_t)(size / LINE));
        for (int r = 0; r < repetitions; r++) {
            int64_t from = wall();
            at = walk(at, (uint64_t)loads);
            times[r] = (wall() - from) * 1000 / loads;
        }
        print_all("size_bytes", &size, 1);
        print_all("load_ps", times, repetitions);
    }
}

/* triad: McCalpin's, over three arrays of `bytes` that caches do not hold, in a process for each core; the times are of
   quarters of a pass. */
static void stream(int64_t bytes, int repetitions, int processes, char **cores) {
    enum { PARTS = 4 };
    int64_t count = PARTS * (int64_t)repetitions;
    int64_t *times = map(sizeof *times * (size_t)(MOST_PROCESSES * count), MAP_SHARED);
    int64_t origin = wall() + 1000000000;
    for (int p = 0; p < processes; p++) {
        if (child()) {
            continue;
        }
        pin(atoi(cores[p]));
        struct triad arrays = triad(3 * (size_t)bytes);
        sleep_until((uint64_t)origin);
        size_t length = arrays.length / PARTS;
        for (int64_t i = 0; i < count; i++) {
            size_t at = (size_t)(i % PARTS) * length;
            struct triad part = {arrays.a + at, arrays.b + at, arrays.c + at, length};
            int64_t from = wall();
            pass_triad(&part, 3.0);
            times[p * count + i] = wall() - from;
        }
        _exit(0);
    }
    wait_for_children(processes);
    int64_t moved = 3 * bytes / PARTS;
    print_all("moved_bytes", &moved, 1);
    for (int p = 0; p < processes; p++) {
        print_all("triad_ns", times + p * count, count);
    }
}

static void write_all(int file, const char *from, size_t bytes) {
    while (bytes) {
        ssize_t written = write(file, from, bytes);
        if (written < 0) {
            fail("write");
        }
        from += written;
        bytes -= (size_t)written;
    }
}

/* disk: writes of 1 MiB that are made durable each; small appends with fdatasync; small reads, cached and direct. */
static void disk(const char *path, int mebibytes, int syncs, int reads) {
    enum { MOST = 100000 };
    static int64_t times[MOST];
    if (mebibytes > MOST || syncs > MOST || reads > MOST) {
        bad("at most 100000 operations");
    }
    char *block;
    if (posix_memalign((void **)&block, PAGE, MEBIBYTE)) {
        fail("posix_memalign");
    }
    uint64_t state = 88172645463325252u;
    for (int i = 0; i < MEBIBYTE / 8; i++) {
        uint64_t number = random_number(&state);
        memcpy(block + 8 * i, &number, 8);
    }
    int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (file < 0) {
        fail(path);
    }
    unlink(path);
    for (int i = 0; i < mebibytes; i++) {
        int64_t from = wall();
        write_all(file, block, MEBIBYTE);
        if (fdatasync(file)) {
            fail("fdatasync");
        }
        times[i] = wall() - from;
    }
    print_all("durable_ns", times, mebibytes);
    for (int i = 0; i < syncs; i++) {
        int64_t from = wall();
        write_all(file, block, PAGE);
        if (fdatasync(file)) {
            fail("fdatasync");
        }
        times[i] = wall() - from;
    }
    print_all("append_ns", times, syncs);
    int64_t pages = (int64_t)mebibytes * MEBIBYTE / PAGE;
    for (int direct = 0; direct < 2; direct++) {
        if (direct) {
            char own[64];
            snprintf(own, sizeof own, "/proc/self/fd/%d", file);
            int other = open(own, O_RDONLY | O_DIRECT);
            if (other < 0) {
                continue;
            }
            file = other;
        }
        for (int i = 0; i < reads; i++) {
            off_t at = (off_t)(random_number(&state) % (uint64_t)pages) * PAGE;
            int64_t from = wall();
            if (pread(file, block, PAGE, at) != PAGE) {
                fail("pread");
            }
            times[i] = wall() - from;
        }
        print_all(direct ? "direct_read_ns" : "cached_read_ns", times, reads);
    }
    free(block);
}

static int tcp_socket(void) {
    int found = socket(AF_INET, SOCK_STREAM, 0);
    int on = 1;
    struct timeval limit = {20, 0};
    if (found < 0) {
        fail("socket");
    }
    setsockopt(found, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(found, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(found, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    return found;
}

static void exchange(int peer, char *byte) {
    if (send(peer, byte, 1, MSG_NOSIGNAL) != 1 || recv(peer, byte, 1, 0) != 1) {
        fail("the peer does not answer");
    }
}

static void serve(int listener) {
    static char buffer[MEBIBYTE];
    int peer = accept(listener, NULL, NULL);
    char byte;
    if (peer < 0) {
        fail("accept");
    }
    int on = 1;
    setsockopt(peer, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    while (recv(peer, &byte, 1, 0) == 1 && byte == 'p') {
        if (send(peer, &byte, 1, MSG_NOSIGNAL) != 1) {
            fail("send");
        }
    }
    while (recv(peer, buffer, sizeof buffer, 0) > 0) {
    }
}

static int listen_at(const char *address, struct sockaddr_in *place) {
    socklen_t size = sizeof *place;
    int listener = tcp_socket(), on = 1;
    memset(place, 0, sizeof *place);
    place->sin_family = AF_INET;
    if (inet_pton(AF_INET, address, &place->sin_addr) != 1) {
        bad("the address is not one of IPv4");
    }
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(listener, (struct sockaddr *)place, size) || listen(listener, 1) ||
        getsockname(listener, (struct sockaddr *)place, &size)) {
        fail("bind");
    }
    return listener;
}

/* net: round trips of a byte over TCP, and acknowledged bytes in windows of a stream. `namespace` is that of the server,
   a path under /run/netns, or - for this one. What is acknowledged selectively, beyond a lost packet, has arrived too:
   without it the window in which the packet is repeated has the bytes of the windows before. */
static void net(const char *address, const char *namespace, int rounds, int64_t duration, int64_t window) {
    enum { MOST = 100000 };
    static int64_t times[MOST], lengths[MOST], acknowledged[MOST];
    static char buffer[MEBIBYTE];
    int ready[2];
    struct sockaddr_in place;
    char byte = 'p';
    if (rounds > MOST || pipe(ready)) {
        bad("at most 100000 round trips");
    }
    if (!child()) {
        if (strcmp(namespace, "-")) {
            int own = open(namespace, O_RDONLY);
            if (own < 0 || setns(own, CLONE_NEWNET)) {
                fail(namespace);
            }
        }
        int listener = listen_at(address, &place);
        write_all(ready[1], (char *)&place, sizeof place);
        serve(listener);
        _exit(0);
    }
    close(ready[1]);
    if (read(ready[0], &place, sizeof place) != (ssize_t)sizeof place) {
        bad("the server does not start");
    }
    int peer = tcp_socket();
    if (connect(peer, (struct sockaddr *)&place, sizeof place)) {
        fail("connect");
    }
    for (int i = 0; i < rounds / 10 + 1; i++) {
        exchange(peer, &byte);
    }
    for (int i = 0; i < rounds; i++) {
        int64_t from = wall();
        exchange(peer, &byte);
        times[i] = wall() - from;
    }
    print_all("round_trip_ns", times, rounds);
    byte = 's';
    if (send(peer, &byte, 1, MSG_NOSIGNAL) != 1) {
        fail("send");
    }
    int64_t windows = 0, from = wall(), end = from + duration, at = from;
    uint64_t before = 0;
    while (at < end && windows < MOST) {
        if (send(peer, buffer, 16384, MSG_NOSIGNAL) < 0) {
            fail("the peer takes no bytes");
        }
        at = wall();
        if (at - from >= window) {
            struct tcp_info info;
            socklen_t size = sizeof info;
            if (getsockopt(peer, IPPROTO_TCP, TCP_INFO, &info, &size)) {
                fail("TCP_INFO");
            }
            at = wall();
            uint64_t arrived = info.tcpi_bytes_acked + (uint64_t)info.tcpi_sacked * info.tcpi_snd_mss;
            acknowledged[windows] = (int64_t)arrived - (int64_t)before;
            lengths[windows++] = at - from;
            before = arrived;
            from = at;
        }
    }
    print_all("window_ns", lengths, windows);
    print_all("acknowledged_bytes", acknowledged, windows);
    fflush(stdout);
    struct linger none = {1, 0};
    setsockopt(peer, SOL_SOCKET, SO_LINGER, &none, sizeof none);
    close(peer);
    wait_for_children(1);
    _exit(0);
}

int main(int count, char **given) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const char *kernel = count > 1 ? given[1] : "";
    if (!strcmp(kernel, "clock") && count == 3) {
        measure_clock(atoi(given[2]));
    } else if (!strcmp(kernel, "spin") && count == 8) {
        spin(atoll(given[2]), atoi(given[3]), given[4], atoi(given[5]), atoll(given[6]), atoll(given[7]));
    } else if (!strcmp(kernel, "work") && count >= 6) {
        work(atoll(given[2]), atoll(given[3]), count - 5, given + 5, given[4], compute);
    } else if (!strcmp(kernel, "wide") && count >= 6) {
        work(atoll(given[2]), atoll(given[3]), count - 5, given + 5, given[4], compute_wide);
    } else if (!strcmp(kernel, "steps") && count == 9) {
        steps(atoi(given[2]), atoll(given[3]), atoll(given[4]), atoll(given[5]), atoi(given[6]), atoll(given[7]),
              atoi(given[8]));
    } else if (!strcmp(kernel, "wake") && count == 6) {
        wake(atoi(given[2]), atoll(given[3]), atoi(given[4]), atoll(given[5]));
    } else if (!strcmp(kernel, "switch") && count == 5) {
        hand_over(atoi(given[2]), atoi(given[3]), atoi(given[4]));
    } else if (!strcmp(kernel, "spread") && count == 5) {
        spread(atoi(given[2]), atoll(given[3]), atoi(given[4]));
    } else if (!strcmp(kernel, "chase") && count >= 7) {
        chase(atoll(given[2]), atoi(given[3]), atoll(given[4]), atoi(given[5]), count - 6, given + 6);
    } else if (!strcmp(kernel, "triad") && count >= 5) {
        stream(atoll(given[2]), atoi(given[3]), count - 4, given + 4);
    } else if (!strcmp(kernel, "disk") && count == 6) {
        disk(given[2], atoi(given[3]), atoi(given[4]), atoi(given[5]));
    } else if (!strcmp(kernel, "net") && count == 7) {
        net(given[2], given[3], atoi(given[4]), atoll(given[5]), atoll(given[6]));
    } else {
        bad("kernels: clock, spin, work, wide, steps, wake, switch, spread, chase, triad, disk, net");
    }
    return 0;
}
