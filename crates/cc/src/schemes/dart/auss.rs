//! The active unique sender set (Dart III-B, III-D, III-E).
