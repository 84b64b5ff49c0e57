//! Who does what next in a load: rows first to last, and what follows a table's rows as soon as they are all there.

use std::collections::{HashMap, VecDeque};

/// Something to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// The rows of the chunk of this index.
    Rows(usize),
    /// The list of statements of this index.
    Finish(usize),
}

/// What a thread does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// This.
    Do(Task),
    /// Nothing until another thread has done something.
    Wait,
    /// Nothing any more.
    End,
}

/// What is left of a load.
#[derive(Debug)]
pub struct Plan {
    /// Chunks that nobody has begun.
    rows: VecDeque<usize>,
    /// Of every table, its chunks that are not done.
    left: HashMap<String, usize>,
    /// Lists that nobody has begun, each with the table that it waits for; None: for all of them.
    lists: Vec<(usize, Option<String>)>,
}

impl Plan {
    /// `chunks` are those that are left, by index and table; `lists` is what each list waits for.
    pub fn new<'a>(
        chunks: impl Iterator<Item = (usize, &'a str)>,
        lists: impl Iterator<Item = Option<String>>,
    ) -> Self {
        let mut own = Self { rows: VecDeque::new(), left: HashMap::new(), lists: lists.enumerate().collect() };
        for (index, table) in chunks {
            own.rows.push_back(index);
            *own.left.entry(table.to_owned()).or_default() += 1;
        }
        own
    }

    /// Whether all rows are there.
    pub fn has_rows(&self) -> bool {
        self.left.is_empty()
    }

    /// Takes the next task: lists come first, because an index takes long and has one thread.
    pub fn take(&mut self) -> Next {
        let ready = |(_, table): &(usize, Option<String>)| match table {
            Some(table) => !self.left.contains_key(table),
            None => self.left.is_empty(),
        };
        if let Some(place) = self.lists.iter().position(ready) {
            return Next::Do(Task::Finish(self.lists.remove(place).0));
        }
        match self.rows.pop_front() {
            Some(index) => Next::Do(Task::Rows(index)),
            None if self.lists.is_empty() => Next::End,
            None => Next::Wait,
        }
    }

    /// A chunk of this table is done.
    pub fn done(&mut self, table: &str) {
        if let Some(left) = self.left.get_mut(table) {
            *left -= 1;
            if *left == 0 {
                self.left.remove(table);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tables<'a>(names: &'a [&'static str]) -> impl Iterator<Item = (usize, &'static str)> + 'a {
        names.iter().copied().enumerate()
    }

    #[test]
    fn a_list_begins_when_its_table_is_there() {
        let lists = [None, Some("a".to_owned()), Some("empty".to_owned())];
        let mut plan = Plan::new(tables(&["a", "b", "a", "b"]), lists.into_iter());
        assert_eq!(plan.take(), Next::Do(Task::Finish(2)));
        let begun: Vec<Next> = (0..3).map(|_| plan.take()).collect();
        assert_eq!(begun, [0, 1, 2].map(|index| Next::Do(Task::Rows(index))));
        plan.done("a");
        plan.done("a");
        assert_eq!(plan.take(), Next::Do(Task::Finish(1)));
        assert_eq!(plan.take(), Next::Do(Task::Rows(3)));
        assert_eq!(plan.take(), Next::Wait, "rows of b are under way");
        plan.done("b");
        assert!(!plan.has_rows());
        plan.done("b");
        assert!(plan.has_rows());
        assert_eq!(plan.take(), Next::Do(Task::Finish(0)));
        assert_eq!(plan.take(), Next::End);
    }

    #[test]
    fn nothing_is_left_of_a_load_that_is_done() {
        assert_eq!(Plan::new(tables(&[]), std::iter::empty()).take(), Next::End);
    }
}
