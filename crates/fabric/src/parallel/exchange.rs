//! Exchange between partitions: messages sent at the end of a step, and messages received.

use crate::clock::START_GIVEN_UP;
use crate::partition::{Letters, RemoteUpdate};
use crate::sim::Simulation;
use fanin_engine::EventQueue;
use fanin_units::{MessageId, Time};

impl<Q: EventQueue> Simulation<Q> {
    /// Time of the next event: in this partition, or by a departure that is still to be worked out. All messages have
    /// been sent.
    pub(super) fn next_at(&mut self) -> Time {
        let core = self.world.net.core();
        debug_assert!(core.outbox.is_empty(), "letters that were not sent");
        let next = core.clock.first_at().min(self.world.net.next_remote());
        next.min(self.loader.first_at()).min(self.world.messages.acts_at())
    }

    /// Prepares the messages of a step to other partitions.
    pub(super) fn collect_letters(&mut self) {
        self.world.net.flush_remote();
        let core = self.world.net.core_mut();
        core.outbox.collect(&mut core.packets);
    }

    /// The messages to each partition.
    pub(super) fn letters(&mut self) -> &mut [Letters] {
        self.world.net.core_mut().outbox.letters()
    }

    /// Events so far.
    pub(super) fn events(&self) -> u64 {
        self.world.net.core().probes.totals.events
    }

    /// Takes in the messages of another partition and empties them.
    pub(super) fn take_letters(&mut self, letters: &mut Letters) {
        for update in letters.take_updates() {
            self.take_update(update);
        }
        let core = self.world.net.core_mut();
        letters.deliver(&mut core.packets, &mut core.clock, core.outbox.has_many());
    }

    fn take_update(&mut self, update: RemoteUpdate) {
        match update {
            RemoteUpdate::SetOut { message, first, hops } => {
                let message = MessageId(message);
                self.world.messages.record_mut(message).hops = hops;
                if let Some(first) = first {
                    self.world.messages.set_connection(message, MessageId(first));
                }
            }
            RemoteUpdate::Stream { message, first, at } => {
                self.hosts.on_remote_stream(&mut self.world, MessageId(message), MessageId(first), at);
            }
            RemoteUpdate::GivenUp { message, at } => {
                self.world.schedule_start(MessageId(message), START_GIVEN_UP, at);
            }
        }
    }
}
