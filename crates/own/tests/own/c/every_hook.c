/* Every hook of every role: checks each argument, counts its call, and changes what it may. The numbers are those of
   tests/hooks.rs. */
#include "fanin_scheme.h"

enum { LIMIT, RATIO, SWITCHED };
static const fanin_parameter parameters[] = {
    {"limit", "a whole number", 7, 1, 100, FANIN_INTEGER},
    {"ratio", "a number", 0.5, 0, 1, FANIN_NUMBER},
    {"switched", "a boolean", 1, 0, 1, FANIN_BOOLEAN},
};

#define TEXT(x) #x
#define TEXT_OF(x) TEXT(x)
#define EXPECT(what) do { if (!(what)) cx->problem = "line " TEXT_OF(__LINE__) ": not " #what; } while (0)
#define CALLED(number) do { cx->counts[number]++; EXPECT(cx->parameters[LIMIT].integer == 9); } while (0)

struct flow { uint64_t hooks; double aligned; };
struct sum { uint64_t flows; };

static void s_open(void *me, fanin_control *control, const fanin_path *path, fanin_cx *cx) {
    struct flow *flow = me;
    struct sum *sum = cx->shared;
    CALLED(0);
    EXPECT((uintptr_t)me % 16 == 0 && flow->hooks == 0 && flow->aligned == 0);
    EXPECT(cx->now == 1000);
    EXPECT(cx->parameters[RATIO].number == 0.25 && cx->parameters[SWITCHED].integer == 0);
    EXPECT(path->line_rate == 1000000000 && path->receiver_rate == 2000000000 && path->base_rtt == 3000);
    EXPECT(path->network_bdp == 4 && path->network_rtt == 5000 && path->payload == 6 && path->wire == 7);
    EXPECT(path->id == 8 && path->from == 9 && path->to == 10);
    EXPECT(control->window == FANIN_NO_WINDOW && control->rate == path->line_rate);
    EXPECT(control->wake_at == FANIN_NEVER && control->not_before == 0 && control->retime == 0);
    EXPECT(++sum->flows == 1 || cx->now != 1000);
    control->window = 11, control->rate = 12, control->wake_at = 5000, control->not_before = 14, control->retime = 1;
    flow->hooks = 1;
}
static uint32_t s_on_send(void *me, fanin_control *control, const fanin_sent *sent, fanin_cx *cx) {
    CALLED(1);
    EXPECT(((struct flow *)me)->hooks == 1 && control->window == 11);
    EXPECT(sent->wire == 1 && sent->payload == 2 && sent->sent_to == 3 && sent->retransmitted == 1 && sent->left == 4);
    cx->shared_changed = 1;
    return 77;
}
static void s_on_ack(void *me, fanin_control *control, const fanin_ack *ack, fanin_cx *cx) {
    (void)me;
    CALLED(2);
    EXPECT(ack->newly_acked == 1 && ack->acked_to == 2 && ack->seq == 3 && ack->sent_to == 4 && ack->in_flight == 5);
    EXPECT(ack->burst == 6 && ack->rtt == 7000 && ack->recovering == 1 && ack->ecn_echo == 1 && ack->cc_feedback == 8);
    EXPECT(ack->hop_count == 2 && ack->path == (21 ^ 22));
    EXPECT(ack->hops[1].rate == 3000000000 && ack->hops[1].time == 31000);
    EXPECT(ack->hops[1].sent == 32 && ack->hops[1].queued == 33);
    control->window += ack->hops[0].queued;
}
static void s_on_notice(void *me, fanin_control *control, const fanin_notice *notice, fanin_cx *cx) {
    (void)me, (void)control;
    CALLED(3);
    EXPECT(notice->kind == FANIN_CNP ? notice->number == 0 : notice->kind == FANIN_CREDIT && notice->number == 9);
}
static void check_loss(const fanin_loss *loss, fanin_cx *cx) {
    EXPECT(loss->from == 1 && loss->sent_to == 2 && loss->in_flight == 3 && loss->retransmitted == 1);
}
static void s_on_loss(void *me, fanin_control *control, const fanin_loss *loss, fanin_cx *cx) {
    (void)me, (void)control;
    CALLED(4);
    check_loss(loss, cx);
}
static void s_on_timeout(void *me, fanin_control *control, const fanin_loss *loss, fanin_cx *cx) {
    (void)me, (void)control;
    CALLED(5);
    check_loss(loss, cx);
}
static void s_on_trim(void *me, fanin_control *control, const fanin_trim *trim, fanin_cx *cx) {
    (void)me, (void)control;
    CALLED(27);
    EXPECT(trim->from == 1 && trim->payload == 2 && trim->wire == 3 && trim->sent_to == 4 && trim->in_flight == 5);
    EXPECT(trim->last_hop == 1 && trim->rtt == 6000);
}
static void s_on_idle(void *me, fanin_control *control, fanin_cx *cx) {
    (void)me, (void)control;
    CALLED(6);
}
static void s_on_timer(void *me, fanin_control *control, fanin_cx *cx) {
    (void)me;
    CALLED(7);
    EXPECT(cx->now == 5000 && control->wake_at == FANIN_NEVER);
}
static uint32_t s_poll_request(void *me, fanin_control *control, uint64_t left, uint32_t *cc_tag, fanin_cx *cx) {
    struct flow *flow = me;
    (void)control;
    CALLED(8);
    EXPECT(left == 123);
    *cc_tag = 88;
    return flow->hooks++ == 1;
}
static uint32_t s_watch(const void *me, uint32_t number, fanin_watched *value) {
    value->name = number ? "half" : "hooks";
    value->value = number ? 0.5 : (double)((const struct flow *)me)->hooks;
    return number < 2;
}
static void s_close(void *me, fanin_control *control, fanin_cx *cx) {
    (void)me, (void)control;
    CALLED(9);
}

struct host { uint64_t seed, flows; };
struct into { uint64_t packets; };

static void r_open(void *me, const fanin_nic *nic, fanin_cx *cx) {
    struct host *host = me;
    EXPECT(nic->line_rate == 1000000000 && nic->network_rtt == 2000 && nic->payload == 3 && nic->wire == 4);
    host->seed = nic->seed;
}
static void r_on_open(void *me, void *flow, const fanin_flow *info, fanin_cx *cx) {
    struct host *host = me;
    CALLED(10);
    EXPECT(host->seed == 5 && ((struct into *)flow)->packets == 0);
    EXPECT(info->flow == 1 && info->id == 2 && info->from == 3 && info->size == 4);
    host->flows++;
    cx->wake_at = 9000;
}
static uint32_t r_on_syn(void *me, void *flow, uint32_t number, fanin_ack_fields *fields, fanin_cx *cx) {
    (void)me, (void)flow;
    CALLED(11);
    EXPECT(number == 1);
    fields->has_window = 1, fields->window = 1234;
    return cx->now > 1000;
}
static void r_on_message_start(void *me, void *flow, const fanin_message *message, fanin_cx *cx) {
    (void)me, (void)flow;
    CALLED(12);
    EXPECT(message->flow == 1 && message->id == 2 && message->from == 3 && message->tenant == 4);
    EXPECT(message->weight == 5 && message->incast == 6 && message->sender_count == 2);
    EXPECT(message->senders[0] == 7 && message->senders[1] == 8);
}
static void r_on_message_end(void *me, void *flow, uint32_t number, uint32_t id, fanin_cx *cx) {
    (void)me, (void)flow;
    CALLED(13);
    EXPECT(number == 1 && id == 2);
}
static void check_data(const fanin_data *data, fanin_cx *cx) {
    EXPECT(data->flow == 1 && data->from == 2 && data->wire == 3 && data->payload == 4 && data->seq == 5);
    EXPECT(data->acked_to == 6 && data->ce == 1 && data->start == 1 && data->end == 0 && data->in_order == 1);
    EXPECT(data->ack_due == 1 && data->pending == 1 && data->due_alone == 0 && data->cc_tag == 7);
    EXPECT(data->cc_feedback == 8 && data->received == 9);
}
static void r_on_data(void *me, void *flow, const fanin_data *data, fanin_ack_plan *plan, fanin_cx *cx) {
    (void)me;
    CALLED(14);
    ((struct into *)flow)->packets++;
    check_data(data, cx);
    EXPECT(!plan->send_before && plan->send_now && plan->now.ecn_echo && !plan->now.has_window);
    plan->send_before = 1;
    plan->before.cc_feedback = 55;
    plan->now.push = 1;
}
static void r_on_trim(void *me, void *flow, const fanin_data *data, fanin_cx *cx) {
    (void)me, (void)flow;
    CALLED(28);
    EXPECT(data->flow == 1 && data->seq == 5 && data->wire == 3 && data->payload == 4 && data->cc_tag == 7);
}
static uint32_t r_on_request(void *me, void *flow, const fanin_data *request, fanin_ack_fields *fields, fanin_cx *cx) {
    (void)me, (void)flow;
    CALLED(15);
    check_data(request, cx);
    fields->cc_feedback = 66;
    return 1;
}
static void r_ack_fields(void *me, void *flow, uint32_t number, fanin_ack_fields *fields, fanin_cx *cx) {
    (void)me;
    CALLED(16);
    EXPECT(number == 1 && ((struct into *)flow)->packets == 1);
    fields->ecn_echo = 1;
}
static void r_on_fin(void *me, void *flow, uint32_t number, fanin_cx *cx) {
    (void)me, (void)flow;
    CALLED(17);
    EXPECT(number == 1);
}
static void r_on_close(void *me, void *flow, uint32_t number, fanin_cx *cx) {
    (void)flow;
    CALLED(18);
    EXPECT(number == 1);
    ((struct host *)me)->flows--;
}
static void r_on_timer(void *me, uint64_t received, fanin_cx *cx) {
    (void)me;
    CALLED(19);
    EXPECT(cx->now == 9000 && received == 321 && cx->wake_at == FANIN_NEVER);
}
static uint32_t r_poll_transmit(void *me, fanin_emit *emit, fanin_cx *cx) {
    (void)me;
    CALLED(20);
    emit->flow = 1;
    emit->kind = cx->counts[20];
    emit->number = 44;
    emit->wire = 84;
    emit->fields.push = 1;
    return emit->kind <= FANIN_EMIT_CREDIT;
}
static uint32_t r_watch(const void *me, uint32_t number, fanin_watched *value) {
    value->name = "flows";
    value->value = (double)((const struct host *)me)->flows;
    return number < 1;
}

struct at { uint64_t ports; };

static void w_open(void *me, const fanin_switch_info *info, fanin_cx *cx) {
    EXPECT(info->node == 1 && info->seed == 2 && info->network_rtt == 3000 && info->port_count == 2);
    EXPECT(info->ports[1].rate == 2000000000);
    ((struct at *)me)->ports = info->port_count;
}
static uint32_t w_route(void *me, fanin_packet *packet, uint32_t in, uint32_t minimal, const fanin_ports *ports,
                        fanin_cx *cx) {
    fanin_port port;
    CALLED(21);
    EXPECT(((struct at *)me)->ports == 2 && in == 0 && minimal == 0 && ports->count == 2);
    ports->view(ports, 1, &port);
    EXPECT(port.rate == 2000000000 && port.queued == 500 && port.of_class == 500 && port.to_switch && port.up);
    EXPECT(packet->seq == 1 && packet->sent_at == 2000 && packet->flow == 3 && packet->from == 4 && packet->to == 5);
    EXPECT(packet->cc_tag == 6 && packet->cc_feedback == 7 && packet->wire == 8 && packet->payload == 9);
    EXPECT(packet->kind == 0 && packet->service_class == 2 && packet->hops == 3 && !packet->ce && packet->ecn);
    packet->cc_tag = 60;
    packet->cc_feedback = 70;
    cx->wake_at = 7000;
    return 1;
}
static void check_queue(const fanin_packet *packet, const fanin_queue *queue, fanin_cx *cx) {
    /* A NACK is not its own. */
    EXPECT(queue->port == 1 && queue->view.queued == 500 && queue->own == (packet->kind != 2));
}
static uint32_t w_on_enqueue(void *me, fanin_packet *packet, const fanin_queue *queue, fanin_cx *cx) {
    (void)me;
    CALLED(22);
    check_queue(packet, queue, cx);
    return packet->cc_tag == 60 ? FANIN_MARK : FANIN_DROP;
}
static void w_on_dequeue(void *me, fanin_packet *packet, const fanin_queue *queue, fanin_cx *cx) {
    (void)me;
    CALLED(23);
    check_queue(packet, queue, cx);
    packet->ce = 1;
    packet->cc_feedback = 71;
}
static void w_on_drop(void *me, const fanin_packet *packet, fanin_cx *cx) {
    (void)me;
    CALLED(24);
    EXPECT(packet->seq == 1);
}
static void w_on_link_down(void *me, uint32_t port, fanin_cx *cx) {
    (void)me;
    CALLED(25);
    EXPECT(port == 1);
}
static void w_on_timer(void *me, const fanin_ports *ports, fanin_cx *cx) {
    fanin_port port;
    (void)me;
    CALLED(26);
    ports->view(ports, 0, &port);
    EXPECT(cx->now == 7000 && port.rate == 1000000000 && port.of_class == 0 && cx->wake_at == FANIN_NEVER);
}
static uint32_t w_watch(const void *me, uint32_t number, fanin_watched *value) {
    value->name = "ports";
    value->value = (double)((const struct at *)me)->ports;
    return number < 1;
}

static const char *check(const fanin_value *values) {
    return values[LIMIT].integer == 13 ? "limit is 13: any other number" : 0;
}

static const struct fanin_scheme scheme = {
    FANIN_SCHEME_VERSION, sizeof scheme, "every-hook", "Calls every hook.", parameters, check, 3,
    FANIN_RDMA, 0, 1, 1, 42, 43, 0, 0, FANIN_SHARE_PAIR, sizeof(struct sum), 84, 168, 840,
    {sizeof(struct flow), s_open, s_on_send, s_on_ack, s_on_notice, s_on_loss, s_on_timeout, s_on_trim, s_on_idle,
     s_on_timer, s_poll_request, s_watch, s_close},
    {sizeof(struct host), sizeof(struct into), r_open, r_on_open, r_on_syn, r_on_message_start, r_on_message_end,
     r_on_data, r_on_request, r_on_trim, r_ack_fields, r_on_fin, r_on_close, r_on_timer, r_poll_transmit, r_watch},
    {sizeof(struct at), w_open, w_route, w_on_enqueue, w_on_dequeue, w_on_drop, w_on_link_down, w_on_timer, w_watch},
};

const struct fanin_scheme *fanin_scheme(void) { return &scheme; }
