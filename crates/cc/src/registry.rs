//! The list of schemes. Each line generates ids, parameters, dispatch, documentation and tests.

use crate::Pool;
use crate::roles::*;
use crate::schemes::*;
use alloc::string::String;

/// One row of the registry.
#[derive(Clone, Copy, Debug)]
pub struct SchemeRow {
    /// The name of its file in `schemes/`, without `.rs`.
    pub file: &'static str,
    /// Its ids; the first is the scheme as its paper has it, the others are presets of the same code.
    pub presets: &'static [&'static str],
    /// The text of its file, from which its manual is taken.
    source: &'static str,
}

impl SchemeRow {
    /// The manual: the file's own doc comment, Markdown with fixed headings.
    pub fn manual(&self) -> String {
        let mut manual = String::new();
        for line in self.source.lines().map_while(|line| line.strip_prefix("//!")) {
            manual.push_str(line.strip_prefix(' ').unwrap_or(line));
            manual.push('\n');
        }
        manual
    }
}

macro_rules! schemes {
    ($($file:ident :: $variant:ident,)*) => {
        const ROWS: &[SchemeRow] = &[$(SchemeRow {
                file: stringify!($file),
                presets: <$file::$variant as Scheme>::PRESETS,
                source: include_str!(concat!("schemes/", stringify!($file), ".rs")),
            },)*];

        /// A scheme with its parameters, checked and ready to run.
        #[derive(Clone, PartialEq, Debug)]
        pub enum Settings { $(
            #[doc = concat!("See [`crate::schemes::", stringify!($file), "`].")]
            $variant(&'static str, <$file::$variant as Scheme>::Params),
        )* }

        /// A scheme in a run. A match per call selects it, so that different schemes run side by side.
        pub enum Instance { $(
            #[doc = concat!("See [`crate::schemes::", stringify!($file), "`].")]
            $variant(Pool<$file::$variant>),
        )* }

        impl Settings {
            /// A preset as it is.
            pub fn preset(id: &str) -> Option<Self> {
                $(if let Some(&id) = <$file::$variant as Scheme>::PRESETS.iter().find(|p| **p == id) {
                    return Some(Self::$variant(id, <$file::$variant as Scheme>::preset(id)));
                })*
                None
            }
            /// The id by which it was selected.
            pub fn id(&self) -> &'static str {
                match self { $(Self::$variant(id, _) => id,)* }
            }
            /// The state it runs on.
            pub fn build(&self) -> Instance {
                match self { $(Self::$variant(_, params) => Instance::$variant(Pool::new(params.clone())),)* }
            }
            #[cfg(feature = "spec")]
            fn with(&self, values: serde_json::Value) -> Result<Self, String> {
                use alloc::string::ToString;
                match self { $(Self::$variant(id, _) => serde_json::from_value(values)
                    .map(|params| Self::$variant(id, params))
                    .map_err(|e| e.to_string()),)* }
            }
        }

        /// The JSON schema of each preset's parameters.
        #[cfg(feature = "spec")]
        pub fn schemas(generator: &mut schemars::SchemaGenerator)
            -> alloc::vec::Vec<(&'static [&'static str], schemars::Schema)>
        {
            alloc::vec![$((
                <$file::$variant as Scheme>::PRESETS,
                generator.subschema_for::<<$file::$variant as Scheme>::Params>(),
            ),)*]
        }

        /// Evaluates an expression with the type of the scheme of [`Settings`] and with its parameters.
        macro_rules! with_scheme {
            ($settings:expr, $scheme:ident, $params:ident => $body:expr) => {
                match $settings { $(Settings::$variant(_, $params) => {
                    type $scheme = $file::$variant;
                    $body
                })* }
            };
        }

        /// Evaluates an expression with the pool of an [`Instance`].
        macro_rules! with_pool {
            ($instance:expr, $pool:ident => $body:expr) => {
                match $instance { $(Instance::$variant($pool) => $body,)* }
            };
        }
        pub(crate) use with_pool;
    };
}

schemes! {
    none::None,
    fixed_window::FixedWindow,
    fixed_rate::FixedRate,
    dcqcn::Dcqcn,
    dcqcn_vendor::DcqcnVendor,
    newreno::NewReno,
    cubic::Cubic,
    dctcp::Dctcp,
    dctcp_rate::DctcpRate,
    dart::Dart,
    hpcc::Hpcc,
    hpcc_alpha::HpccAlpha,
    timely::Timely,
    rcp::Rcp,
    expresspass::ExpressPass,
    infiniband::InfiniBand,
    hpcc_ns3::HpccNs3,
    dcqcn_ns3::DcqcnNs3,
    timely_ns3::TimelyNs3,
    dctcp_ns3::DctcpNs3,
    rcc::Rcc,
    ictcp::Ictcp,
    nscc::Nscc,
    rccc::Rccc,
    nscc_rccc::NsccRccc,
    swift::Swift,
    powertcp::PowerTcp,
    ndp::Ndp,
    // The last one stands for schemes that are loaded at run time; it has no ids.
    own::Own,
}

/// Every built-in scheme, in order.
pub fn rows() -> &'static [SchemeRow] {
    ROWS.split_last().map_or(&[], |(_loaded, built_in)| built_in)
}

/// Methods of [`Settings`] that ask the scheme.
macro_rules! questions {
    ($($name:ident -> $answer:ty,)*) => {
        impl Settings { $(
            #[doc = concat!("See [`Scheme::", stringify!($name), "`].")]
            pub fn $name(&self) -> $answer {
                with_scheme!(self, S, params => S::$name(params))
            }
        )* }
    };
}

questions! {
    transport -> Transport,
    wants_ecn -> bool,
    lanes -> Lanes,
    credits -> Option<CreditQueue>,
    symmetric_routes -> Option<&'static str>,
    acks_once_per_rtt -> bool,
    header_overhead -> HeaderOverhead,
    rdma_only -> Option<&'static str>,
    tcp_only -> Option<&'static str>,
    needs_switches -> Option<&'static str>,
    needs_marks -> bool,
    needs_trimming -> Option<&'static str>,
    telemetry_rates -> Option<&'static [u64]>,
    deflection -> Option<Deflection>,
    wire_format -> WireFormat,
    check -> Result<(), &'static str>,
}

impl Settings {
    /// The scheme that was loaded at run time, if it is one.
    pub fn loaded(&self) -> Option<&alloc::sync::Arc<dyn own::Program>> {
        match self {
            Self::Own(_, params) => Some(&params.program),
            _ => None,
        }
    }
    /// See [`Scheme::send_options`].
    pub fn send_options(&self, bytes: u64, senders: usize, connection: bool) -> SendOptions {
        with_scheme!(self, S, params => S::send_options(params, bytes, senders, connection))
    }
    /// Its parameters as JSON, every default shown.
    #[cfg(feature = "spec")]
    pub fn to_json(&self) -> serde_json::Value {
        let params = with_scheme!(self, S, params => {
            let params: &<S as Scheme>::Params = params;
            serde_json::to_value(params)
        });
        params.expect("parameters are plain values and always serialise")
    }
}

/// Why a scheme's parameters were refused.
#[cfg(feature = "spec")]
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SettingsError {
    /// No scheme has this id; the known ones are listed.
    UnknownScheme(alloc::vec::Vec<&'static str>),
    /// The scheme has no such parameter; its own are listed.
    UnknownParameter(String, alloc::vec::Vec<String>),
    /// A parameter's value is wrong.
    Value(String),
}

/// Puts a value in. A table changes only the keys it names, as the parameters of a scheme that another is built on.
#[cfg(feature = "spec")]
fn merge(into: &mut serde_json::Map<String, serde_json::Value>, key: &str, value: &serde_json::Value) {
    match (into.get_mut(key), value) {
        (Some(serde_json::Value::Object(old)), serde_json::Value::Object(new)) => {
            for (key, value) in new {
                merge(old, key, value);
            }
        }
        _ => {
            into.insert(key.into(), value.clone());
        }
    }
}

/// A preset with some of its parameters changed.
///
/// # Errors
/// When the scheme or a parameter is unknown, or a value is no value of its parameter or impossible.
#[cfg(feature = "spec")]
pub fn settings(id: &str, overrides: &serde_json::Map<String, serde_json::Value>) -> Result<Settings, SettingsError> {
    use alloc::string::ToString;
    let Some(preset) = Settings::preset(id) else {
        return Err(SettingsError::UnknownScheme(rows().iter().flat_map(|r| r.presets.iter().copied()).collect()));
    };
    let mut values = preset.to_json();
    if let Some(known) = values.as_object_mut() {
        for (key, value) in overrides {
            if !known.contains_key(key) {
                return Err(SettingsError::UnknownParameter(key.clone(), known.keys().cloned().collect()));
            }
            merge(known, key, value);
        }
    }
    let settings = preset.with(values).map_err(SettingsError::Value)?;
    settings.check().map_err(|e| SettingsError::Value(e.to_string()))?;
    Ok(settings)
}
