/* A selector of paths. The parameter `wrong` says what a hook does wrong. Compiled with -DBUT="a change of it" to be
   refused, and with -DBESIDE for load balancing of switches beside it. And a scheme, "writes", whose switches write into
   cc_feedback, and a discipline, "writes-too", that does. */
#include "fanin_scheme.h"

#ifndef BUT
#define BUT .parameter_count = 1
#endif

static const fanin_parameter parameters[] = {{"wrong", "what goes wrong", 0, 0, 9, FANIN_INTEGER}};

static void open(void *me, const fanin_selector_info *info, fanin_cx *cx) {
    (void)me;
    if (cx->parameters[0].integer == 1) cx->problem = "there are too few paths";
    if (info->paths != 64 || info->from == info->to) cx->problem = "this is another sender";
}
static uint32_t next_path(void *me, uint32_t number, uint64_t window, fanin_cx *cx) {
    (void)me;
    if (cx->parameters[0].integer == 2) return 65536;
    if (cx->parameters[0].integer == 3) cx->wake_at = cx->now + 1;
    if (window == 0) cx->problem = "the window is 0";
    return number % 64;
}
static void feedback(void *me, uint32_t path, uint32_t feedback, fanin_cx *cx) {
    (void)me;
    if (path >= 64 || feedback > FANIN_TIMEOUT) cx->problem = "this is no feedback";
    if (cx->parameters[0].integer == 4 && feedback == FANIN_MARKED) cx->problem = "it was marked";
}
static const struct fanin_selector selector = {
    .version = FANIN_SCHEME_VERSION, .struct_size = sizeof selector, .id = "in-turn", .parameters = parameters,
    .open = open, .next_path = next_path, .feedback = feedback, BUT,
};
const struct fanin_selector *fanin_selector(void) { return &selector; }

static void open_flow(void *me, fanin_control *control, const fanin_path *path, fanin_cx *cx) {
    (void)me, (void)cx;
    control->window = 10 * path->payload;
}
static uint32_t on_enqueue(void *me, fanin_packet *packet, const fanin_queue *queue, fanin_cx *cx) {
    (void)me, (void)queue, (void)cx;
    packet->cc_feedback += 1;
    return FANIN_ADMIT;
}
static const struct fanin_scheme scheme = {
    .version = FANIN_SCHEME_VERSION, .struct_size = sizeof scheme, .id = "writes", .sender = {.open = open_flow},
    .switch_program = {.on_enqueue = on_enqueue},
};
static const struct fanin_policy discipline = {
    .version = FANIN_SCHEME_VERSION, .struct_size = sizeof discipline, .id = "writes-too", .on_enqueue = on_enqueue,
};
const struct fanin_scheme *fanin_scheme(void) { return &scheme; }
const struct fanin_policy *fanin_discipline(void) { return &discipline; }

#ifdef BESIDE
static uint32_t choose(void *me, const fanin_packet *packet, uint32_t hash, const fanin_choice *choices, uint32_t count,
                       fanin_cx *cx) {
    (void)me, (void)packet, (void)hash, (void)choices, (void)count, (void)cx;
    return 0;
}
static const struct fanin_policy balancer = {
    .version = FANIN_SCHEME_VERSION, .struct_size = sizeof balancer, .id = "beside-it", .choose = choose,
};
const struct fanin_policy *fanin_balancer(void) { return &balancer; }
#endif
