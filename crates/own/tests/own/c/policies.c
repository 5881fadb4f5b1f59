/* A scheme, load balancing and a queue discipline in one library. The parameter `wrong` says what a hook does wrong.
   Compiled with -DBUT="a change of the balancer" to be refused, and with -DSCHEME="the id of the scheme". */
#include "fanin_scheme.h"

#ifndef BUT
#define BUT .parameter_count = 1
#endif

#ifndef SCHEME
#define SCHEME "beside"
#endif

static const fanin_parameter parameters[] = {{"wrong", "what goes wrong", 0, 0, 9, FANIN_INTEGER}};

static void open_flow(void *me, fanin_control *control, const fanin_path *path, fanin_cx *cx) {
    (void)me, (void)cx;
    control->window = 10 * path->payload;
}
static void open(void *me, const fanin_switch_info *info, fanin_cx *cx) {
    (void)me, (void)info;
    if (cx->parameters[0].integer == 1) cx->problem = "there are too few ports";
}
static uint32_t choose(void *me, const fanin_packet *packet, uint32_t hash, const fanin_choice *choices, uint32_t count,
                       fanin_cx *cx) {
    (void)me, (void)packet, (void)hash, (void)choices;
    if (cx->parameters[0].integer == 2) return count;
    if (cx->parameters[0].integer == 3) cx->wake_at = cx->now + 1;
    return 0;
}
static uint32_t on_enqueue(void *me, fanin_packet *packet, const fanin_queue *queue, fanin_cx *cx) {
    (void)me, (void)packet, (void)queue;
    return cx->parameters[0].integer == 4 ? 4 : FANIN_ADMIT;
}
static void on_dequeue(void *me, fanin_packet *packet, const fanin_queue *queue, fanin_cx *cx) {
    (void)me, (void)packet, (void)queue;
    if (cx->parameters[0].integer == 5) cx->problem = "it left too early";
}

#define POLICY .version = FANIN_SCHEME_VERSION, .struct_size = sizeof(struct fanin_policy), .parameters = parameters
static const struct fanin_policy balancer = {POLICY, .id = "first", .open = open, .choose = choose, BUT};
static const struct fanin_policy discipline = {
    POLICY, .id = "queue", .parameter_count = 1, .on_enqueue = on_enqueue, .on_dequeue = on_dequeue,
};
static const struct fanin_scheme scheme = {
    .version = FANIN_SCHEME_VERSION, .struct_size = sizeof scheme, .id = SCHEME, .sender = {.open = open_flow},
};

const struct fanin_scheme *fanin_scheme(void) { return &scheme; }
const struct fanin_policy *fanin_balancer(void) { return &balancer; }
const struct fanin_policy *fanin_discipline(void) { return &discipline; }
