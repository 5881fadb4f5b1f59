/*
 * Senders' choice of paths in C: REPS, as the built-in `network.balancing = "reps"`, event for event. A ring of the last
 * eight paths whose packets arrived without a mark; without a fresh one, a random path. A timeout freezes the ring for
 * 10 ms, in which its paths are used over and over; then 16 packets explore ("Recycled Entropy Packet Spraying", Bonato
 * et al., 2024, with the numbers of uet-htsim).
 *
 *   cc -O2 -shared -fPIC -I crates/own/include -o libreps.so examples/own/reps.c
 *   fanin run examples/load-balancing.toml --balancing ./libreps.so
 */
#include "fanin_scheme.h"
#include <string.h>

enum { RING = 8, EXPLORE = 16 };
#define FREEZE 10000000000u /* 10 ms in picoseconds */

struct ring {
    uint32_t path[RING], is_fresh[RING]; /* a path is fresh until it is used */
    uint32_t head, count, fresh, frozen, frozen_at;
    uint64_t until; /* when it thaws */
};

struct sender {
    uint64_t random; /* the state of its random numbers */
    uint32_t paths, explore;
    struct ring ring;
};

static void of_open(void *me, const fanin_selector_info *info, fanin_cx *cx) {
    struct sender *of = me;
    (void)cx;
    /* Each sender draws numbers of its own, so that results are the same for any number of threads. */
    of->random = info->seed;
    of->paths = info->paths;
}

/* A path at random (SplitMix64). */
static uint32_t draw(struct sender *of) {
    uint64_t x = of->random += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return (uint32_t)((x ^ x >> 31) >> 33) % of->paths;
}

static uint32_t of_next_path(void *me, uint32_t number, uint64_t window, fanin_cx *cx) {
    struct sender *of = me;
    struct ring *ring = &of->ring;
    (void)number, (void)window, (void)cx;
    if (of->explore > 0) {
        of->explore--;
        return draw(of);
    }
    if (ring->count == 0 || (!ring->frozen && ring->fresh == 0)) return draw(of);
    uint32_t at = ring->frozen ? ring->frozen_at : (ring->head + RING - ring->fresh) % RING;
    if (ring->is_fresh[at] || !ring->frozen) {
        ring->fresh -= ring->fresh > 0;
        ring->is_fresh[at] = 0;
    }
    if (ring->frozen) ring->frozen_at = (ring->frozen_at + 1) % ring->count;
    return ring->path[at];
}

static void of_feedback(void *me, uint32_t path, uint32_t feedback, fanin_cx *cx) {
    struct sender *of = me;
    struct ring *ring = &of->ring;
    if (ring->frozen && cx->now > ring->until) {
        memset(ring, 0, sizeof *ring);
        of->explore = EXPLORE;
    }
    if (feedback == FANIN_GOOD) {
        ring->fresh += !ring->is_fresh[ring->head] && ring->fresh < RING;
        ring->path[ring->head] = path;
        ring->is_fresh[ring->head] = 1;
        ring->head = (ring->head + 1) % RING;
        ring->count += ring->count < RING;
    } else if (feedback == FANIN_TIMEOUT && !ring->frozen && of->explore == 0) {
        ring->frozen = 1;
        ring->until = cx->now + FREEZE;
    }
}

static const struct fanin_selector reps = {
    .version = FANIN_SCHEME_VERSION,
    .struct_size = sizeof reps,
    .id = "c-reps",
    .manual = "# c-reps: recycled paths\n\n## Idea\nA ring of the last good paths, which a timeout freezes.\n",
    .size = sizeof(struct sender),
    .open = of_open,
    .next_path = of_next_path,
    .feedback = of_feedback,
};

const struct fanin_selector *fanin_selector(void) { return &reps; }
