//! The methods of [`Pool`](crate::Pool) as methods of [`Instance`]: each calls the pool of the instance's scheme.

use crate::pool::pool_methods;
use crate::registry::with_pool;
use crate::roles::*;
use crate::{Actions, Header, Instance, Opened};
use fanin_units::{MessageId, Time};

/// One method of [`Instance`], by its signature.
macro_rules! forward {
    ([$($doc:tt)*] $name:ident (&mut $this:ident $(, $arg:ident: $type:ty)* $(,)?) $(-> $out:ty)?) => {
        $($doc)*
        #[inline]
        #[allow(clippy::too_many_arguments)]
        pub fn $name(&mut $this $(, $arg: $type)*) $(-> $out)? { with_pool!($this, pool => pool.$name($($arg),*)) }
    };
    ([$($doc:tt)*] $name:ident (&$this:ident $(, $arg:ident: $type:ty)*) $(-> $out:ty)?) => {
        $($doc)*
        #[inline]
        pub fn $name(&$this $(, $arg: $type)*) $(-> $out)? { with_pool!($this, pool => pool.$name($($arg),*)) }
    };
}

impl Instance {
    pool_methods!();
}
