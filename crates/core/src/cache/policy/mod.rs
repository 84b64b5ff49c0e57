//! What leaves the cache when something else is to come in: one file a policy, met in `Kind`.
