/* Fanin as the network of another simulator: a program posts messages, asks what happens next, and answers that with
 * more messages. Everything happens in the thread that calls.
 *
 *     fanin *net = fanin_open(FANIN_VERSION, "net.toml", "scheme=dcqcn");
 *     if (net->problem) { fprintf(stderr, "%s\n", net->problem); fanin_close(net, NULL); return 1; }
 *     fanin_post(net, 0, 1, 1000000, 0);
 *     fanin_event events[64];
 *     for (long n; (n = fanin_next(net, events, 64)) > 0;)
 *         for (long i = 0; i < n; i++)
 *             printf("%llu ps: %u of %llu\n", (unsigned long long)net->now, events[i].kind,
 *                    (unsigned long long)events[i].id);
 *     fanin_close(net, "runs/mine");
 *
 * Time stands still between two calls of fanin_next: what is posted then takes effect at that instant, in the order of
 * the calls. So a run is a function of its network and of the calls, and repeats bit for bit.
 *
 * `make library` builds target/release/libfanin.so, to link with. */
#ifndef FANIN_H
#define FANIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Of this header. A library refuses programs that were compiled with another one. */
#define FANIN_VERSION 1

/* A network and its run. These fields are for reading; more follow that are not seen here. */
typedef struct fanin {
    /* The instant at which the run stands, in picoseconds. */
    uint64_t now;
    /* Hosts, numbered from 0 in the order of the network's file. */
    uint32_t hosts;
    /* Messages posted of whose arrival their senders do not know yet. */
    uint32_t under_way;
    /* What was wrong with the last call that failed, in UTF-8: valid until the next call. NULL after a success. */
    const char *problem;
} fanin;

enum {
    /* The last byte of a message has arrived. */
    FANIN_ARRIVED = 1,
    /* The sender of a message knows that all of it has arrived. */
    FANIN_ACKED = 2,
    /* The time of a wake has come. */
    FANIN_WOKEN = 3
};

typedef struct fanin_event {
    /* As given to fanin_post or fanin_wake. */
    uint64_t id;
    /* FANIN_ARRIVED, FANIN_ACKED or FANIN_WOKEN. */
    uint32_t kind;
    uint32_t unused;
} fanin_event;

/* Opens a network at time zero. `version` is FANIN_VERSION. `network` is a file: a spec of Fanin (.toml, .json), of
 * which the traffic counts if its pattern is "posted", and otherwise the network alone; a configuration of the ns-3
 * HPCC simulator, which names its topology; or a topology of ASTRA-sim (YAML), SimAI, ns-3 HPCC or htsim.
 * `changes` is NULL or has a line "key=value" for each change of the spec, as for `fanin run --set`; besides, the keys
 * scheme (for all messages) and seed. Never returns NULL: where `problem` is set, the network can only be closed. */
fanin *fanin_open(uint32_t version, const char *network, const char *changes);

/* Posts a message of `bytes` (1 to 2^50) between two different hosts, now. `id` is its name in events: each message has
 * one of its own, counted up from 0, though not necessarily in order. It also chooses among equal paths.
 * Returns 0, or -1 and sets `problem`; then nothing was posted. */
int fanin_post(fanin *net, uint32_t src, uint32_t dst, uint64_t bytes, uint32_t id);

/* Wakes the caller at a time in picoseconds that is not over: now is allowed, and comes before time moves. `id` is any
 * number. Returns 0, or -1 and sets `problem`. */
int fanin_wake(fanin *net, uint64_t at, uint64_t id);

/* Runs to the first instant at which anything happens that an event tells of, and sets `now` to it. Writes the events
 * of that instant: messages by id, then wakes in the order of their calls. Returns how many; `room` is at least 1, and
 * what had no room comes with the next calls, before time moves. Returns 0 if no message is under way and no wake is
 * left, and -1 and sets `problem` if messages are under way that will never arrive, or the spec's measured window is
 * over. */
long fanin_next(fanin *net, fanin_event *events, size_t room);

/* Ends the run and frees it. With `folder`, its tables, summary and spec are written there first, as `fanin run` writes
 * them, for `fanin report` and the Python package; an existing run folder is replaced, anything else never.
 * Returns 0, or -1 if the folder could not be written: then `problem` is set, and the run can only be closed again. */
int fanin_close(fanin *net, const char *folder);

#ifdef __cplusplus
}
#endif
#endif
