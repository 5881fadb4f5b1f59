//! The hooks of each role, each described once: its name, its arguments, its result and what happens without it.
//!
//! A list hands its entries to a macro of the caller's, which makes of them what it needs: the trait of the role, the
//! calls through `dyn`, the structs of C, the classes of Python. In front of the entries stand the caller's own tokens
//! and the names that the defaults use.

/// The hooks of a sender. Each also gets the context.
#[macro_export]
macro_rules! sender_hooks {
    ($with:ident $(, $($more:tt)*)?) => { $with! { $($($more)*)? [self, cx]
        /// A packet left. The result is its `cc_tag`, for switches and the receiver.
        fn on_send(sent: &Sent) -> u32 { 0 }
        /// An acknowledgement arrived.
        fn on_ack(ack: &Ack) -> () {}
        /// A congestion notification packet or a credit arrived.
        fn on_notice(notice: Notice) -> () {}
        /// The endpoint found a loss and will retransmit.
        fn on_loss(loss: &Loss) -> () {}
        /// The retransmission timer expired.
        fn on_timeout(loss: &Loss) -> () {}
        /// A switch cut this packet's payload, and its header told the receiver, which asks for it again. The endpoint
        /// sends it again at once. By default it is a loss.
        fn on_trim(trim: &Trim) -> () { self.on_loss(&trim.loss(), cx) }
        /// A connection that stays open has become idle: everything posted on it is acknowledged. RDMA: called after
        /// the `on_ack` of the last ACK. TCP: only where each request restarts the window, when the next one is posted.
        fn on_idle() -> () {}
        /// The time of `wake_at` has come.
        fn on_timer() -> () {}
        /// The `cc_tag` of a request to send now, with `left` payload bytes posted and not sent. Polled when data is
        /// posted, after `on_timer`, `on_loss`, `on_timeout`, `on_trim` and a credit. RDMA only.
        fn poll_request(left: u64) -> Option<u32> { None }
    } };
}

/// The hooks of a receiver. Each also gets the state of its flow, unless it is about the whole host, and the context.
#[macro_export]
macro_rules! receiver_hooks {
    ($with:ident $(, $($more:tt)*)?) => { $with! { $($($more)*)? [self, state, cx]
        /// A flow opens: its first packet, or its handshake, arrived.
        fn on_open(flow: &FlowInfo) -> () {}
        /// A TCP connection's SYN arrived; called after `on_open`. The result is on the SYN-ACK, and on its
        /// retransmissions. With `None` the SYN-ACK waits for an ACK that the receiver sends for the flow.
        fn on_syn(flow: ReceiverFlow) -> Option<AckFields> { Some(self.ack_fields(flow, state, cx)) }
        /// A message starts. Called before `on_data` of its first packet.
        fn on_message_start(message: &MessageStart) -> () {}
        /// A message has arrived whole. Called before `on_data` of its last packet. RDMA only; once per message.
        fn on_message_end(flow: ReceiverFlow, id: MessageId) -> () {}
        /// Data arrived. By default every ACK that is due goes out and echoes the packet's mark.
        fn on_data(data: &Data) -> AckPlan { data.due() }
        /// A request arrived, possibly as the flow's first packet. The result is on an ACK that answers it at once;
        /// `None` for no ACK. RDMA only.
        fn on_request(request: &Data) -> Option<AckFields> { None }
        /// The header of a data packet arrived, whose payload a switch cut, possibly as the flow's first packet. The
        /// endpoint asks for it again.
        fn on_trim(data: &Data) -> () {}
        /// The fields of an ACK that `on_data` did not plan: one whose delay has expired, one that travels on data, or
        /// a window update.
        fn ack_fields(flow: ReceiverFlow) -> AckFields { AckFields::default() }
        /// The sender's FIN arrived, and all its data has. TCP only; `on_close` follows when the connection is freed.
        fn on_fin(flow: ReceiverFlow) -> () {}
        /// A flow ends.
        fn on_close(flow: ReceiverFlow) -> () {}
    } };
}

/// The hooks of a program of a switch that change no packet. Each also gets the context.
#[macro_export]
macro_rules! switch_hooks {
    ($with:ident $(, $($more:tt)*)?) => { $with! { $($($more)*)? [self, cx]
        /// A failure dropped a data packet of this scheme at this switch.
        fn on_drop(packet: &Header) -> () {}
        /// The link of a port went down.
        fn on_link_down(port: u16) -> () {}
        /// The time of `wake_at` has come.
        fn on_timer(ports: &dyn Ports) -> () {}
    } };
}
