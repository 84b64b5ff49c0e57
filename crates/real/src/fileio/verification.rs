//! Every written block is stamped with a generation, and every block that is read is checked for its generation.

use std::sync::Arc;

use flatwater_core::storage::{Kind, Request};
use flatwater_core::workload::fileio::Fileio;
use flatwater_core::workload::payload::{self, Generations, Header, Mismatch};

use super::spec::Verify;

/// The blocks of a run and their generations.
#[derive(Clone)]
pub(super) struct Verification {
    verify: Verify,
    block_bytes: u64,
    blocks_per_file: u64,
    generations: Arc<Generations>,
}

impl Verification {
    /// The blocks of a workload. Generations of an `earlier` run on the same files are taken over.
    pub(super) fn new(verify: Verify, workload: &Fileio, earlier: Option<&Self>) -> Self {
        let block_bytes = u64::from(workload.block_bytes_max().max(1));
        let blocks_per_file = workload.file_bytes / block_bytes;
        let blocks = blocks_per_file * u64::from(workload.files);
        let generations = match earlier {
            Some(run) => run.generations.clone(),
            None => Arc::new(Generations::new(blocks as usize)),
        };
        Self { verify, block_bytes, blocks_per_file, generations }
    }

    fn block(&self, request: Request) -> u64 {
        u64::from(request.file) * self.blocks_per_file + request.offset / self.block_bytes
    }

    fn header(&self, request: Request, generation: u32) -> Header {
        Header { set_id: self.verify.set_id, file: request.file, offset: request.offset, generation }
    }

    /// The generation that a write leaves behind.
    fn next_generation(&self, generation: u32) -> u32 {
        generation.max(self.verify.generation_base) + 1
    }

    /// Takes the block of a read or write, and returns its generation (0: unknown). None: another request has the block.
    pub(super) fn claim(&self, request: Request) -> Option<u32> {
        self.generations.take(self.block(request))
    }

    /// Stamps the data of a write to a block of this generation.
    pub(super) fn seal(&self, data: &mut [u8], request: Request, generation: u32) {
        payload::seal(data, self.header(request, self.next_generation(generation)));
    }

    /// Checks the data of a read of a block of this generation. Returns the generation that it found.
    ///
    /// # Errors
    /// Why the data are wrong.
    pub(super) fn check(&self, data: &[u8], request: Request, generation: u32) -> Result<u32, Mismatch> {
        payload::check(data, self.header(request, generation))
    }

    /// Gives back the block of a request that has ended. The block had this `generation` before the request. `outcome` is the
    /// generation that a read found. After a failed request the generation is unknown.
    pub(super) fn give_back<E>(&self, request: Request, generation: u32, outcome: &Result<u32, E>) {
        let left = match (outcome, request.kind) {
            (Err(_), _) => 0,
            (Ok(_), Kind::Write) => self.next_generation(generation),
            (Ok(found), _) => *found,
        };
        self.generations.give_back(self.block(request), left);
    }
}
