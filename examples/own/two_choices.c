/*
 * Load balancing in C: the power of two choices. Each packet draws two of its equal paths at random and takes the one
 * where fewer bytes wait (Mitzenmacher, The power of two choices in randomized load balancing, 2001). A switch compares
 * two queues for each packet, whatever the number of its ports.
 *
 *   cc -O2 -shared -fPIC -I crates/own/include -o libtwo_choices.so examples/own/two_choices.c
 *   fanin run examples/load-balancing.toml --balancing ./libtwo_choices.so
 */
#include "fanin_scheme.h"

struct at_switch {
    uint64_t random; /* the state of its random numbers */
};

static void at_open(void *me, const fanin_switch_info *info, fanin_cx *cx) {
    struct at_switch *at = me;
    (void)cx;
    /* Each switch draws numbers of its own, so that results are the same for any number of threads. */
    at->random = info->seed;
}

/* A number below `count` (SplitMix64). */
static uint32_t draw(struct at_switch *at, uint32_t count) {
    uint64_t x = at->random += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    x ^= x >> 31;
    return (uint32_t)(((x >> 32) * count) >> 32);
}

static uint32_t at_choose(void *me, const fanin_packet *packet, uint32_t hash, const fanin_choice *choices,
                          uint32_t count, fanin_cx *cx) {
    struct at_switch *at = me;
    (void)packet, (void)hash, (void)cx;
    uint32_t first = draw(at, count);
    uint32_t second = draw(at, count - 1);
    second += second >= first; /* another one than the first */
    return choices[second].queued < choices[first].queued ? second : first;
}

static const struct fanin_policy two_choices = {
    .version = FANIN_SCHEME_VERSION,
    .struct_size = sizeof two_choices,
    .id = "two-choices",
    .manual = "# two-choices: the shorter of two random queues\n\n## Idea\n"
              "Each packet draws two of its equal paths at random and takes the one where fewer bytes wait.\n",
    .size = sizeof(struct at_switch),
    .open = at_open,
    .choose = at_choose,
};

const struct fanin_policy *fanin_balancer(void) { return &two_choices; }
