use super::*;

const fn page(number: u32) -> PageNo {
    PageNo::new(number)
}

/// The first page of each region: room, headers, logs of inserts.
fn made(segments: u32, merged: bool, threads: u32) -> (Undo, [PageNo; 3]) {
    let undo = Undo::new(&mut Layout::default(), UndoLogs { segments, merged }, threads);
    let firsts = [page(0), undo.headers.first, undo.inserts.first];
    (undo, firsts)
}

#[test]
fn a_transaction_has_a_log_of_inserts_and_one_of_changes_and_its_end_is_in_the_segments_header() {
    let (mut undo, [room, headers, inserts]) = made(3, false, 1);
    let mut out = Vec::new();
    undo.touch(0, Undone::Insert, 30, 65, &mut out);
    undo.touch(0, Undone::Change, 70, 105, &mut out);
    undo.touch(0, Undone::Insert, 30, 65, &mut out);
    undo.commit(0, 51, &mut out);
    let own = inserts + 1;
    let records = [Touch::create(own, 65), Touch::create(room, 105), Touch::change(own, 65)];
    assert_eq!(out[..3], records);
    assert_eq!(out[3..], [Touch::change(room, 26), Touch::change(headers + 1, 25)]);
}

#[test]
fn segments_take_turns_and_each_keeps_its_pages() {
    let (mut undo, [room, headers, inserts]) = made(3, false, 2);
    let mut touched = Vec::new();
    for transaction in 0..6 {
        let mut out = Vec::new();
        undo.touch(transaction % 2, Undone::Insert, 30, 1, &mut out);
        undo.touch(transaction % 2, Undone::Change, 70, 1, &mut out);
        undo.commit(transaction % 2, 2, &mut out);
        touched.push((out[0].page, out[1].page, out[3].page));
    }
    let of = |at: u32, made: u32| (inserts + at, room + made, headers + at);
    assert_eq!(touched, [of(1, 0), of(2, 1), of(0, 2), of(1, 0), of(2, 1), of(0, 2)]);
}

#[test]
fn a_page_of_changes_is_kept_until_it_is_three_quarters_full() {
    let (mut undo, [room, ..]) = made(1, false, 1);
    // 12,288 bytes are three quarters: 12,102 bytes and a header are not more, and another byte is.
    let mut page_after = |bytes: u32| {
        let mut out = Vec::new();
        undo.touch(0, Undone::Change, bytes, 1, &mut out);
        undo.commit(0, 2, &mut out);
        out[0].page
    };
    assert_eq!([page_after(12_102), page_after(1), page_after(1)], [room, room, room + 1]);
    // A transaction that does not fit goes on on another page.
    let mut out = Vec::new();
    (0..3).for_each(|_| undo.touch(0, Undone::Change, 8000, 1, &mut out));
    let firsts = [Touch::change(room + 1, 1), Touch::create(room + 2, 1), Touch::change(room + 2, 1)];
    assert_eq!(out, firsts);
}

#[test]
fn a_merged_log_has_both_and_nothing_else_is_touched() {
    let (mut undo, [room, headers, _]) = made(2, true, 1);
    let mut out = Vec::new();
    undo.touch(0, Undone::Insert, 30, 65, &mut out);
    undo.touch(0, Undone::Change, 70, 105, &mut out);
    undo.commit(0, 2, &mut out);
    let records = [Touch::create(room, 65), Touch::change(room, 105), Touch::change(room, 1)];
    assert_eq!(out, [&records[..], &[Touch::change(headers + 1, 1)]].concat());
}

#[test]
fn inserts_alone_are_in_no_history_and_an_empty_transaction_ends_without_a_change() {
    let (mut undo, [_, _, inserts]) = made(2, false, 1);
    let mut out = Vec::new();
    undo.commit(0, 10, &mut out);
    assert_eq!(out, []);
    undo.touch(0, Undone::Insert, 30, 65, &mut out);
    undo.commit(0, 10, &mut out);
    assert_eq!(out, [Touch::create(inserts + 1, 65), Touch::change(inserts + 1, 10)]);
}

#[test]
fn threads_of_one_segment_do_not_share_a_page() {
    let (mut undo, [room, headers, inserts]) = made(1, false, 3);
    let mut out = Vec::new();
    for thread in 0..3 {
        undo.touch(thread, Undone::Insert, 30, 1, &mut out);
        undo.touch(thread, Undone::Change, 70, 1, &mut out);
    }
    let pages: Vec<PageNo> = out.iter().map(|touch| touch.page).collect();
    assert_eq!(pages, [inserts, room, inserts + 1, room + 1, inserts + 2, room + 2]);
    out.clear();
    (0..3).for_each(|thread| undo.commit(thread, 2, &mut out));
    assert!(out.iter().skip(1).step_by(2).all(|touch| touch.page == headers));
}
