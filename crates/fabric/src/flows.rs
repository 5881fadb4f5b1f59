//! Packed records of messages: a run may have had many millions.

use crate::results::FlowRecord;
use crate::table::Table;
use std::fmt;
use std::ops::{Index, IndexMut};

/// Records of messages by number, in less than a fifth of their memory. A record that is read or written by number is
/// unpacked with its neighbours and stays so; [`Flows::iter`] and [`Flows::get`] unpack only temporarily.
#[derive(Clone, Default)]
pub struct Flows(Table<FlowRecord>);

impl Flows {
    /// Packs a table.
    pub(crate) fn of(mut table: Table<FlowRecord>) -> Self {
        table.pack_all();
        Self(table)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.len() == 0
    }

    /// One of them.
    pub fn get(&self, number: usize) -> Option<FlowRecord> {
        self.0.get(number)
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = FlowRecord> + '_ {
        self.0.from(0)
    }

    /// Those from `first` on, in order.
    pub fn from(&self, first: usize) -> impl Iterator<Item = FlowRecord> + '_ {
        self.0.from(first)
    }
}

impl FromIterator<FlowRecord> for Flows {
    fn from_iter<I: IntoIterator<Item = FlowRecord>>(records: I) -> Self {
        let mut table = Table::default();
        for record in records {
            table.push(record);
            table.pack_complete(|_| true);
        }
        Self(table)
    }
}

impl From<Vec<FlowRecord>> for Flows {
    fn from(records: Vec<FlowRecord>) -> Self {
        records.into_iter().collect()
    }
}

impl Index<usize> for Flows {
    type Output = FlowRecord;

    fn index(&self, number: usize) -> &FlowRecord {
        &self.0[number]
    }
}

impl IndexMut<usize> for Flows {
    fn index_mut(&mut self, number: usize) -> &mut FlowRecord {
        &mut self.0[number]
    }
}

impl PartialEq for Flows {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

impl fmt::Debug for Flows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
