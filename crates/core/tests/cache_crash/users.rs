//! The users of a cache: their requests and commands under way.

use std::collections::BTreeMap;
use std::fmt;

use flatwater_core::cache::Request;

/// A request under way.
pub struct Asked {
    pub request: Request,
    /// The step in which it was sent.
    pub issued: u64,
    /// The oracle's number of a change.
    pub op: Option<u32>,
}

/// Requests and commands under way, by tag.
#[derive(Default)]
pub struct Users {
    requests: BTreeMap<u64, Asked>,
    /// Whether each command stops the cache.
    commands: BTreeMap<u64, bool>,
    tags: u64,
    values: u64,
}

impl Users {
    /// A tag that was not used before.
    pub fn next_tag(&mut self) -> u64 {
        self.tags += 1;
        self.tags
    }

    /// A value that was not written before.
    pub fn next_value(&mut self) -> u64 {
        self.values += 1;
        self.values
    }

    /// How many requests are under way.
    pub fn requests(&self) -> usize {
        self.requests.len()
    }

    /// Whether no request and no command is under way.
    pub fn are_idle(&self) -> bool {
        self.requests.is_empty() && self.commands.is_empty()
    }

    /// A request is sent.
    pub fn begin_request(&mut self, tag: u64, request: Asked) {
        self.requests.insert(tag, request);
    }

    /// A command is sent. `stops`: it stops the cache.
    pub fn begin_command(&mut self, tag: u64, stops: bool) {
        self.commands.insert(tag, stops);
    }

    /// Takes the request of a tag.
    pub fn end_request(&mut self, tag: u64) -> Option<Asked> {
        self.requests.remove(&tag)
    }

    /// Takes the command of a tag. Returns whether it stops the cache.
    pub fn end_command(&mut self, tag: u64) -> Option<bool> {
        self.commands.remove(&tag)
    }

    /// The process that served them is gone: nobody waits for its answers.
    pub fn abandon(&mut self) {
        self.requests.clear();
        self.commands.clear();
    }
}

impl fmt::Display for Users {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let requests: Vec<_> = self.requests.values().map(|asked| asked.request).collect();
        write!(f, "{requests:?}, commands {:?}", self.commands)
    }
}
