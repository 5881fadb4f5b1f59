/* A program over fanin.h: program NETWORK CHANGES BYTES [FOLDER] runs a ring all-reduce of all hosts with blocks of so
 * many bytes, and leaves its run folder. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "fanin.h"

#define STOP_UNLESS(is)                                                                                               \
    if (!(is)) {                                                                                                      \
        fprintf(stderr, "line %d: %s\n", __LINE__, net->problem ? net->problem : "?");                                \
        return 1;                                                                                                     \
    }

int main(int argc, char **argv) {
    printf("fanin %zu %zu %zu %zu, event %zu %zu of %zu\n", offsetof(fanin, now), offsetof(fanin, hosts),
           offsetof(fanin, under_way), offsetof(fanin, problem), offsetof(fanin_event, id),
           offsetof(fanin_event, kind), sizeof(fanin_event));
    if (argc < 4) return 2;
    fanin *net = fanin_open(FANIN_VERSION, argv[1], argv[2]);
    STOP_UNLESS(net->problem == NULL && net->hosts > 1)
    const uint64_t bytes = strtoull(argv[3], NULL, 10);
    const uint32_t n = net->hosts, rounds = 2 * (n - 1);
    unsigned arrived = 0, acked = 0, woken = 0;
    /* Message r n + i is what host i sends in round r. */
    for (uint32_t host = 0; host < n; host++) STOP_UNLESS(fanin_post(net, host, (host + 1) % n, bytes, host) == 0)
    STOP_UNLESS(fanin_wake(net, 1000000, 42) == 0)
    fanin_event events[64];
    long count;
    while ((count = fanin_next(net, events, 64)) > 0) {
        for (long at = 0; at < count; at++) {
            const uint32_t id = (uint32_t)events[at].id, round = id / n, to = (id % n + 1) % n;
            switch (events[at].kind) {
            case FANIN_ARRIVED:
                arrived++;
                if (round + 1 < rounds)
                    STOP_UNLESS(fanin_post(net, to, (to + 1) % n, bytes, (round + 1) * n + to) == 0)
                break;
            case FANIN_ACKED: acked++; break;
            default: STOP_UNLESS(id == 42 && net->now == 1000000) woken++;
            }
        }
    }
    STOP_UNLESS(count == 0 && net->under_way == 0)
    printf("%u messages arrived, %u acknowledged, %u wake, %" PRIu64 " ps\n", arrived, acked, woken, net->now);
    STOP_UNLESS(fanin_close(net, argc > 4 ? argv[4] : NULL) == 0)
    return 0;
}
