//! Recognises other contents of a device by their magic numbers, so that nobody's data are overwritten by mistake.

/// A signature: its name, where it lies, its bytes.
type Signature = (&'static str, u64, &'static [u8]);

/// From the formats' own documentation and libblkid's probes (util-linux 2.41).
const SIGNATURES: &[Signature] = &[
    ("an XFS file system", 0, b"XFSB"),
    ("a btrfs file system", 0x1_0040, b"_BHRfS_M"),
    ("an F2FS file system", 1024, &[0x10, 0x20, 0xf5, 0xf2]),
    ("a bcachefs or bcache device", 4096 + 24, BCACHE),
    ("a bcachefs device", 4096 + 24, BCACHEFS),
    ("a LUKS encrypted device", 0, b"LUKS\xba\xbe"),
    ("an LVM physical volume", 512, b"LABELONE"),
    ("an LVM physical volume", 0, b"LABELONE"),
    ("an LVM physical volume", 1024, b"LABELONE"),
    ("an LVM physical volume", 1536, b"LABELONE"),
    ("a member of an MD array (metadata 1.1)", 0, MD),
    ("a member of an MD array (metadata 1.2)", 4096, MD),
    ("swap space", 4096 - 10, b"SWAPSPACE2"),
    ("swap space", 65536 - 10, b"SWAPSPACE2"),
    ("a suspended system in swap space", 4096 - 10, b"S1SUSPEND"),
    ("an NTFS file system", 3, b"NTFS    "),
    ("an exFAT file system", 3, b"EXFAT   "),
    ("a FAT file system", 82, b"FAT32   "),
    ("a FAT file system", 54, b"FAT1"),
    ("a squashfs file system", 0, b"hsqs"),
    ("an ISO 9660 file system", 32769, b"CD001"),
    ("a GPT partition table", 512, b"EFI PART"),
    ("a GPT partition table", 4096, b"EFI PART"),
    ("a dm-writecache device", 0, &[0x46, 0x52, 0x42, 0x23, 0x50, 0x0b, 0x00, 0x00]),
    ("a MariaDB or MySQL InnoDB redo log", 0, b"Phys"),
];

const BCACHE: &[u8] = &[0xc6, 0x85, 0x73, 0xf6, 0x4e, 0x1a, 0x45, 0xca, 0x82, 0x65, 0xf5, 0x7f, 0x48, 0xba, 0x6d, 0x81];
const BCACHEFS: &[u8] =
    &[0xc6, 0x85, 0x73, 0xf6, 0x66, 0xce, 0x90, 0xa9, 0xd9, 0x6a, 0x60, 0xcf, 0x80, 0x3d, 0xf7, 0xef];
const MD: &[u8] = &[0xfc, 0x4e, 0x2b, 0xa9];

/// Bytes at the beginning of a device in which all of these show.
pub const HEAD_BYTES: u64 = 512 << 10;

/// Bytes at its end in which the others show.
pub const TAIL_BYTES: u64 = 256 << 10;

/// What a device seems to hold, by its first bytes and its last ones, which may overlap. None: nothing that is
/// recognised. The function does not look for a superblock of flatwater.
pub fn found(head: &[u8], tail: &[u8]) -> Option<&'static str> {
    at_magic(head).or_else(|| ext(head)).or_else(|| zfs(head, tail)).or_else(|| md_at_end(tail)).or_else(|| mbr(head))
}

fn at_magic(head: &[u8]) -> Option<&'static str> {
    let is = |at: u64, magic: &[u8]| head.get(at as usize..).is_some_and(|rest| rest.starts_with(magic));
    SIGNATURES.iter().find(|(_, at, magic)| is(*at, magic)).map(|(name, ..)| *name)
}

fn ext(head: &[u8]) -> Option<&'static str> {
    let superblock = head.get(1024..2048)?;
    if superblock[56..58] != [0x53, 0xef] {
        return None;
    }
    // The features distinguish the generations: extents and 64-bit are ext4's, a journal is ext3's.
    Some(match (superblock[96], superblock[92]) {
        (incompatible, _) if incompatible & 0xc0 != 0 => "an ext4 file system",
        (_, compatible) if compatible & 4 != 0 => "an ext3 file system",
        _ => "an ext2 file system",
    })
}

/// ZFS: an uberblock in one of the four labels, of either byte order.
fn zfs(head: &[u8], tail: &[u8]) -> Option<&'static str> {
    let uberblock = |bytes: &[u8]| {
        bytes.chunks_exact(1024).any(|chunk| {
            let magic = &chunk[..8];
            magic == [0x0c, 0xb1, 0xba, 0, 0, 0, 0, 0] || magic == [0, 0, 0, 0, 0, 0xba, 0xb1, 0x0c]
        })
    };
    let labels = head.get(128 << 10..).is_some_and(uberblock);
    (labels || uberblock(tail)).then_some("a member of a ZFS pool")
}

/// MD arrays of metadata 0.90 and 1.0, which lie at the end: 64 KiB aligned, and 8 KiB before it.
fn md_at_end(tail: &[u8]) -> Option<&'static str> {
    let old =
        tail.chunks_exact(4096).any(|chunk| chunk.starts_with(MD) || chunk.starts_with(&[0xa9, 0x2b, 0x4e, 0xfc]));
    old.then_some("a member of an MD array (metadata at its end)")
}

/// A master boot record: its signature, and a valid partition entry.
fn mbr(head: &[u8]) -> Option<&'static str> {
    let sector = head.get(..512)?;
    let entries = sector[446..510].chunks_exact(16);
    let is = sector[510..] == [0x55, 0xaa]
        && entries.clone().all(|entry| entry[0] & 0x7f == 0)
        && entries.clone().any(|entry| entry[4] != 0 && entry[12..16] != [0; 4]);
    is.then_some("a partition table")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_signature_is_found() {
        for (name, at, magic) in SIGNATURES {
            let mut head = vec![0; HEAD_BYTES as usize];
            head[*at as usize..][..magic.len()].copy_from_slice(magic);
            assert_eq!(found(&head, &[]), Some(*name));
        }
        assert_eq!(found(&vec![0; HEAD_BYTES as usize], &vec![0; TAIL_BYTES as usize]), None);
        assert_eq!(found(&[], &[]), None);
    }

    #[test]
    fn what_needs_more_than_a_magic_is_found() {
        let mut head = vec![0; HEAD_BYTES as usize];
        head[1024 + 56..1024 + 58].copy_from_slice(&[0x53, 0xef]);
        assert_eq!(found(&head, &[]), Some("an ext2 file system"));
        head[1024 + 92] = 4;
        assert_eq!(found(&head, &[]), Some("an ext3 file system"));
        head[1024 + 96] = 0x40;
        assert_eq!(found(&head, &[]), Some("an ext4 file system"));
        let mut head = vec![0; 1024];
        head[510..512].copy_from_slice(&[0x55, 0xaa]);
        assert_eq!(found(&head, &[]), None, "a boot sector without partitions");
        head[446 + 4] = 0x83;
        head[446 + 12] = 1;
        assert_eq!(found(&head, &[]), Some("a partition table"));
        let mut tail = vec![0; TAIL_BYTES as usize];
        tail[TAIL_BYTES as usize - 8192..][..4].copy_from_slice(MD);
        assert_eq!(found(&[0; 4096], &tail), Some("a member of an MD array (metadata at its end)"));
        let mut head = vec![0; HEAD_BYTES as usize];
        head[132 << 10..][..8].copy_from_slice(&[0x0c, 0xb1, 0xba, 0, 0, 0, 0, 0]);
        assert_eq!(found(&head, &[]), Some("a member of a ZFS pool"));
    }
}
