/* A scheme whose hooks do something wrong from 5 us on; the parameter says which. The numbers are those of
   tests/own/failures.rs. */
#include "fanin_scheme.h"

static const fanin_parameter parameters[] = {{"wrong", "which hook, 0 for none", 0, 0, 99, FANIN_INTEGER}};

static int wrong(const fanin_cx *cx, int number) {
    return cx->parameters[0].integer == number && cx->now >= 5000000;
}
struct state { uint64_t wrong; };

static void s_open(void *me, fanin_control *control, const fanin_path *path, fanin_cx *cx) {
    ((struct state *)me)->wrong = (uint64_t)cx->parameters[0].integer;
    control->window = 8 * (uint64_t)path->payload;
    control->wake_at = cx->now + 5000000;
}
static void s_on_ack(void *me, fanin_control *control, const fanin_ack *ack, fanin_cx *cx) {
    (void)me, (void)ack;
    if (wrong(cx, 1)) control->wake_at = cx->now - 1;
    if (wrong(cx, 2)) cx->problem = "the window is not what I thought";
}
static void s_on_timer(void *me, fanin_control *control, fanin_cx *cx) {
    (void)me;
    control->wake_at = wrong(cx, 3) ? cx->now : FANIN_NEVER;
}
static uint32_t s_poll_request(void *me, fanin_control *control, uint64_t left, uint32_t *cc_tag, fanin_cx *cx) {
    (void)me, (void)control, (void)left, (void)cc_tag;
    return wrong(cx, 4);
}
static uint32_t s_watch(const void *me, uint32_t number, fanin_watched *value) {
    static const double nothing = 0;
    uint64_t which = ((const struct state *)me)->wrong;
    value->name = which == 6 ? 0 : "window";
    value->value = which == 5 ? nothing / nothing : 1;
    return which == 7 || number < 1;
}
static void r_on_data(void *me, void *flow, const fanin_data *data, fanin_ack_plan *plan, fanin_cx *cx) {
    (void)flow, (void)plan;
    ((struct state *)me)->wrong = data->flow;
    if (wrong(cx, 8)) cx->wake_at = cx->now;
}
static uint32_t r_poll_transmit(void *me, fanin_emit *emit, fanin_cx *cx) {
    emit->flow = (uint32_t)((struct state *)me)->wrong;
    emit->kind = FANIN_EMIT_CNP;
    if (wrong(cx, 9)) emit->flow = 12345;
    if (wrong(cx, 10)) emit->kind = FANIN_EMIT_CREDIT;
    if (wrong(cx, 11)) emit->kind = 17;
    return wrong(cx, 9) || wrong(cx, 10) || wrong(cx, 11) || wrong(cx, 12);
}
static uint32_t w_route(void *me, fanin_packet *packet, uint32_t in, uint32_t minimal, const fanin_ports *ports,
                        fanin_cx *cx) {
    fanin_port port;
    (void)me, (void)packet, (void)in;
    if (wrong(cx, 13)) ports->view(ports, ports->count, &port);
    if (wrong(cx, 14)) cx->wake_at = 1;
    return wrong(cx, 15) ? 65536 : minimal;
}
static uint32_t w_on_enqueue(void *me, fanin_packet *packet, const fanin_queue *queue, fanin_cx *cx) {
    (void)me, (void)packet, (void)queue;
    return wrong(cx, 16) ? 4 : FANIN_ADMIT;
}

static const struct fanin_scheme scheme = {
    .version = FANIN_SCHEME_VERSION,
    .struct_size = sizeof scheme,
    .id = "wrong",
    .parameters = parameters,
    .parameter_count = 1,
    .sender = {.size = sizeof(struct state), .open = s_open, .on_ack = s_on_ack, .on_timer = s_on_timer,
               .poll_request = s_poll_request, .watch = s_watch},
    .receiver = {.host_size = sizeof(struct state), .on_data = r_on_data, .poll_transmit = r_poll_transmit},
    .switch_program = {.route = w_route, .on_enqueue = w_on_enqueue},
};

const struct fanin_scheme *fanin_scheme(void) { return &scheme; }
