//! The link's stream: bytes, frames and endings, between two ends of ours and against bare sockets.

use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::thread;
use std::time::{Duration, Instant};

use crate::ws_fixture::*;
use postern::tunnel::ws::{FrameError, WsReader, WsWriter};

const MASK: Option<[u8; 4]> = Some([0x9a, 0x01, 0xfe, 0x3c]);
const KIB: usize = 1024;

#[test]
fn bytes_go_both_ways() {
    for secure in [false, true] {
        let ((mut from_server, to_server), (mut from_client, to_client)) = link(secure);
        for size in [1, 2, 125, 126, 127, 65_535, 65_536, 65_537, 300_000] {
            let text: Vec<u8> = (0..size).map(|n| n as u8).collect();
            let expected = text.clone();
            let reading =
                thread::spawn(move || (read_exactly(&mut from_client, size), from_client));
            to_server.write(&mut text.clone()).unwrap();
            let (read, reader) = reading.join().unwrap();
            from_client = reader;
            assert_eq!(read, expected, "to the server, {size}");
            let writer = to_client.clone();
            let writing = thread::spawn(move || writer.write(&mut text.clone()).unwrap());
            assert_eq!(
                read_exactly(&mut from_server, size),
                expected,
                "to the client, {size}"
            );
            writing.join().unwrap();
        }
        let (client, server) = (to_server.counters(), to_client.counters());
        assert_eq!(
            (client.sent, client.received),
            (server.received, server.sent)
        );
        assert!(client.sent > 400_000);
        to_server.write(&mut []).unwrap();
        assert_eq!(
            from_server.read(&mut []).unwrap_err().kind(),
            ErrorKind::InvalidInput
        );
    }
}

#[test]
fn the_frames_that_are_sent_are_the_rfcs() {
    let ((_reader, writer), mut server) = with_raw_server();
    for size in [1, 125, 126, 65_535, 65_536] {
        let text = vec![7; size];
        let (mut sent, writer) = (text.clone(), writer.clone());
        let writing = thread::spawn(move || writer.write(&mut sent).unwrap());
        assert_eq!(read_frame(&mut server), (0x82, text));
        writing.join().unwrap();
    }
    writer.write(&mut [1, 2, 3]).unwrap();
    let mut raw = [0; 9];
    server.read_exact(&mut raw).unwrap();
    assert_eq!(raw[..2], [0x82, 0x83], "a client masks");

    let ((_reader, writer), mut client) = with_raw_client();
    writer.write(&mut [1, 2, 3]).unwrap();
    let mut raw = [0; 5];
    client.read_exact(&mut raw).unwrap();
    assert_eq!(raw, [0x82, 3, 1, 2, 3], "a server does not");
}

/// Fragments, empty ones too, pings between them, and every kind of length.
fn mixed(mask: Option<[u8; 4]>) -> (Vec<u8>, Vec<u8>) {
    let (mut raw, mut text) = (Vec::new(), Vec::new());
    for (first, size) in [
        (0x82, 5),
        (0x02, 3),
        (0x89, 4),
        (0x00, 0),
        (0x00, 200),
        (0x8a, 125),
        (0x80, 0),
        (0x82, 0),
        (0x82, 70_000),
        (0x02, 1),
        (0x80, 126),
    ] {
        let payload: Vec<u8> = (0..size).map(|n| (n * 7) as u8).collect();
        raw.extend(frame(first, mask, &payload));
        if first & 0x08 == 0 {
            text.extend(payload);
        }
    }
    (raw, text)
}

#[test]
fn frames_may_arrive_in_any_pieces() {
    let mut numbers = Numbers(88_172_645_463_325_252);
    for round in 0..40 {
        let (((mut reader, _writer), mut raw), mask) = match round % 2 {
            0 => (with_raw_server(), None),
            _ => (with_raw_client(), MASK),
        };
        let (frames, text) = mixed(mask);
        let most = [1, 3, 50, 5000][round / 2 % 4];
        let cut = if most == 1 {
            frames.len().min(70_000)
        } else {
            0
        };
        let sending = thread::spawn(move || {
            raw.set_nodelay(true).unwrap();
            let mut rest = frames.as_slice();
            while !rest.is_empty() {
                // One byte at a time around all the borders; the long middle in one piece.
                let inside = frames.len() - rest.len() > 500 && rest.len() > 500;
                let size = if inside && cut > 0 {
                    rest.len() - 400
                } else {
                    1 + numbers.below(most)
                };
                let (now, later) = rest.split_at(size.min(rest.len()));
                raw.write_all(now).unwrap();
                rest = later;
            }
            (raw, numbers)
        });
        let read = read_exactly(&mut reader, text.len());
        assert!(read == text, "round {round}");
        let (mut raw, after) = sending.join().unwrap();
        numbers = after;
        let (first, payload) = read_frame(&mut raw);
        assert_eq!(
            (first, payload.as_slice()),
            (0x8a, [0, 7, 14, 21].as_slice()),
            "the ping is answered"
        );
        raw.shutdown(Shutdown::Write).unwrap();
        assert_eq!(reader.read(&mut [0]).unwrap(), 0);
    }
}

#[test]
fn small_reads_get_everything() {
    let ((mut reader, _writer), mut raw) = with_raw_client();
    let (frames, text) = mixed(MASK);
    let sending = thread::spawn(move || raw.write_all(&frames).map(|()| raw).unwrap());
    let mut read: Vec<u8> = Vec::new();
    let mut numbers = Numbers(42);
    while read.len() < text.len() {
        let mut space = vec![0; 1 + numbers.below(9)];
        let count = reader.read(&mut space).unwrap();
        assert!(count > 0);
        read.extend(&space[..count]);
    }
    assert!(read == text);
    sending.join().unwrap();
}

#[test]
fn broken_rules_end_the_link_and_are_told() {
    let long = [&[0x82, 0xff, 0, 0, 0, 0, 4, 0, 0, 1][..], &MASK.unwrap()].concat();
    let table = [
        (frame(0xc2, MASK, b"x"), FrameError::ReservedBit, 1002u16),
        (frame(0x83, MASK, b"x"), FrameError::Opcode, 1002),
        (frame(0x82, None, b"x"), FrameError::Unmasked, 1002),
        (frame(0x81, MASK, b"x"), FrameError::Text, 1003),
        (frame(0x80, MASK, b"x"), FrameError::Continuation, 1002),
        (frame(0x09, MASK, b"x"), FrameError::Control, 1002),
        (frame(0x89, MASK, &[0; 126]), FrameError::Control, 1002),
        (frame(0x88, MASK, b"x"), FrameError::Close, 1002),
        (
            frame(0x88, MASK, &1005u16.to_be_bytes()),
            FrameError::Close,
            1002,
        ),
        (
            [frame(0x02, MASK, b""), frame(0x82, MASK, b"x")].concat(),
            FrameError::Interleaved,
            1002,
        ),
        (long, FrameError::TooLong, 1009),
    ];
    for (bytes, expected, code) in table {
        let ((mut reader, writer), mut raw) = with_raw_client();
        // Data before the fault is delivered.
        raw.write_all(&frame(0x82, MASK, b"before")).unwrap();
        raw.write_all(&bytes).unwrap();
        assert_eq!(read_exactly(&mut reader, 6), b"before");
        let error = reader.read(&mut [0; 9]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidData);
        let found = error.get_ref().and_then(|e| e.downcast_ref::<FrameError>());
        assert_eq!(found, Some(&expected));
        assert_eq!(
            read_frame(&mut raw),
            (0x88, code.to_be_bytes().to_vec()),
            "{expected:?}"
        );
        assert_eq!(
            writer.write(&mut [1]).unwrap_err().kind(),
            ErrorKind::BrokenPipe
        );
    }
    let ((mut reader, _writer), mut raw) = with_raw_server();
    raw.write_all(&frame(0x82, MASK, b"x")).unwrap();
    let error = reader.read(&mut [0; 9]).unwrap_err();
    assert!(
        error.to_string().contains("server's frame with a mask"),
        "{error}"
    );
}

#[test]
fn a_goodbye_of_the_peer_is_returned() {
    let ((mut reader, writer), mut raw) = with_raw_client();
    raw.write_all(&frame(0x82, MASK, b"last")).unwrap();
    raw.write_all(&frame(0x88, MASK, b"\x03\xe9going")).unwrap();
    raw.write_all(&frame(0x82, MASK, b"nothing comes after it"))
        .unwrap();
    assert_eq!(read_exactly(&mut reader, 4), b"last");
    assert_eq!(reader.read(&mut [0; 9]).unwrap(), 0);
    assert_eq!(reader.read(&mut [0; 9]).unwrap(), 0);
    assert_eq!(read_frame(&mut raw), (0x88, vec![3, 0xe9]));
    assert_eq!(
        writer.write(&mut [1]).unwrap_err().to_string(),
        "the link is closing"
    );
}

#[test]
fn our_goodbye_comes_after_the_data_and_lets_the_peer_finish() {
    for secure in [false, true] {
        let ((mut from_server, to_server), (mut from_client, to_client)) = link(secure);
        to_client.write(&mut vec![5; 10_000]).unwrap();
        to_server.write(&mut vec![6; 10_000]).unwrap();
        to_server.close();
        assert_eq!(read_exactly(&mut from_client, 10_000), vec![6; 10_000]);
        assert_eq!(from_client.read(&mut [0]).unwrap(), 0);
        assert_eq!(read_exactly(&mut from_server, 10_000), vec![5; 10_000]);
        assert_eq!(from_server.read(&mut [0]).unwrap(), 0);
        assert_eq!(
            to_server.write(&mut [1]).unwrap_err().kind(),
            ErrorKind::BrokenPipe
        );
    }
}

#[test]
fn a_connection_that_ends_is_told_apart() {
    for (bytes, expected) in [
        (vec![], None),
        (frame(0x82, MASK, b""), None),
        (frame(0x02, MASK, b""), Some(ErrorKind::UnexpectedEof)),
        (vec![0x82], Some(ErrorKind::UnexpectedEof)),
        (
            frame(0x82, MASK, b"")
                .into_iter()
                .chain([0x89, 0x84, 1])
                .collect(),
            Some(ErrorKind::UnexpectedEof),
        ),
        (vec![0x82, 0x85, 1, 2, 3, 4], Some(ErrorKind::UnexpectedEof)),
        (
            vec![0x89, 0x85, 1, 2, 3, 4, 5],
            Some(ErrorKind::UnexpectedEof),
        ),
    ] {
        let ((mut reader, _writer), mut raw) = with_raw_client();
        raw.write_all(&bytes).unwrap();
        drop(raw);
        let ended = reader.read(&mut [0; 9]);
        assert_eq!(
            ended.as_ref().map_err(|e| e.kind()).err(),
            expected,
            "{bytes:x?}"
        );
        assert_eq!(ended.unwrap_or(0), 0);
    }
}

/// A peer that only ever pings and never reads must neither stop the stream nor fill the memory.
#[test]
fn a_storm_of_pings_does_not_stop_the_stream() {
    let ((mut reader, writer), mut raw) = with_raw_client();
    let storm = thread::spawn(move || {
        let pings = frame(0x89, MASK, &[9; 100]).repeat(1000);
        for _ in 0..300 {
            raw.write_all(&pings).unwrap();
        }
        raw.write_all(&frame(0x89, MASK, b"last")).unwrap();
        raw.write_all(&frame(0x82, MASK, b"data")).unwrap();
        raw
    });
    let (text, _reader) = within(TIMEOUT, "data behind 300,000 pings", move || {
        (read_exactly(&mut reader, 4), reader)
    });
    assert_eq!(text, b"data");
    let mut raw = storm.join().unwrap();
    // The socket may be full of pongs: what is left comes with the next write, before its frame or
    // after it.
    let writing = thread::spawn(move || writer.write(&mut [1, 2]));
    let (mut is_answered, mut is_written) = (false, false);
    while !is_answered || !is_written {
        match read_frame(&mut raw) {
            (0x82, text) => is_written = text == [1, 2],
            (0x8a, text) if text == b"last" => is_answered = true,
            (first, text) => assert_eq!((first, text), (0x8a, vec![9; 100])),
        }
    }
    writing.join().unwrap().unwrap();
}

/// Both ends write before either reads: the reading halves must get everything moving.
#[test]
fn full_sockets_both_ways_do_not_lock_up() {
    for secure in [false, true] {
        let (client, server) = link(secure);
        let total = 64 * KIB * KIB;
        let both = [
            exchange(client, total, 48 * KIB),
            exchange(server, total, 48 * KIB),
        ];
        within(TIMEOUT, "64 MiB both ways", move || {
            both.map(|(r, w)| (r.join().unwrap(), w.join().unwrap()))
        });
    }
}

type Running = (thread::JoinHandle<WsReader>, thread::JoinHandle<()>);

/// Sends and receives `total` bytes of a known pattern at once.
fn exchange((mut reader, writer): (WsReader, WsWriter), total: usize, size: usize) -> Running {
    let pattern: Vec<u8> = (0..4 * 251 * KIB).map(|n| (n % 251) as u8).collect();
    let expected = pattern.clone();
    let receiving = thread::spawn(move || {
        let (mut space, mut done) = (vec![0; 64 * KIB], 0);
        while done < total {
            let count = reader.read(&mut space).unwrap();
            assert!(count > 0, "ended after {done}");
            let start = done % 251;
            assert!(
                space[..count] == expected[start..start + count],
                "damaged after {done}"
            );
            done += count;
        }
        reader
    });
    let sending = thread::spawn(move || {
        let (mut frame, mut done) = (vec![0; size], 0);
        while done < total {
            let count = size.min(total - done);
            let start = done % 251;
            frame[..count].copy_from_slice(&pattern[start..start + count]);
            writer.write(&mut frame[..count]).unwrap();
            done += count;
        }
    });
    (receiving, sending)
}

#[test]
fn a_gibibyte_goes_both_ways_at_once() {
    for secure in [false, true] {
        let (client, server) = link(secure);
        let (to_server, to_client) = (client.1.clone(), server.1.clone());
        let total = 1 << 30;
        let begun = Instant::now();
        let both = [
            exchange(client, total, 64 * KIB),
            exchange(server, total, 32 * KIB),
        ];
        let readers = within(10 * TIMEOUT, "1 GiB both ways", move || {
            both.map(|(receiving, sending)| (receiving.join().unwrap(), sending.join().unwrap()))
        });
        println!("secure {secure}: 1 GiB both ways in {:?}", begun.elapsed());
        assert_eq!(to_server.counters(), to_client.counters());
        assert_eq!(to_server.counters().sent, total as u64);
        drop(readers);
    }
}

/// A writer that waits holds the lock: reading goes on, and the writer sends the pong when it can.
#[test]
fn a_blocked_writer_pays_what_the_reader_owes() {
    let ((mut reader, writer), mut raw) = with_raw_client();
    let blocked = fill(&writer);
    let sending = thread::spawn(move || {
        raw.write_all(&frame(0x89, MASK, b"early").repeat(5000))
            .unwrap();
        raw.write_all(&frame(0x89, MASK, b"late")).unwrap();
        raw.write_all(&frame(0x82, MASK, b"data")).unwrap();
        raw
    });
    let (text, reader) = within(TIMEOUT, "data beside a blocked writer", move || {
        (read_exactly(&mut reader, 4), reader)
    });
    assert_eq!(text, b"data");
    let mut raw = sending.join().unwrap();
    let late = (0x8a, b"late".to_vec());
    let sent = std::iter::repeat_with(|| read_frame(&mut raw)).find(|frame| *frame == late);
    assert!(sent.is_some());
    drop(reader);
    blocked.join().unwrap();
}

/// One frame of a writer is never inside another's.
#[test]
fn frames_of_many_writers_stay_whole() {
    for secure in [false, true] {
        let ((_reader, writer), (mut from_client, _to_client)) = link(secure);
        let writers: Vec<_> = (1..=8u8)
            .map(|mark| {
                let writer = writer.clone();
                thread::spawn(move || {
                    for _ in 0..200 {
                        writer.write(&mut vec![mark; 3000]).unwrap();
                    }
                })
            })
            .collect();
        let read = read_exactly(&mut from_client, 8 * 200 * 3000);
        assert!(
            read.chunks(3000)
                .all(|frame| frame.iter().all(|byte| *byte == frame[0]))
        );
        writers
            .into_iter()
            .for_each(|writer| writer.join().unwrap());
    }
}

#[test]
fn a_shutdown_wakes_a_reader() {
    for secure in [false, true] {
        let ((mut reader, writer), _server) = link(secure);
        let reading = thread::spawn(move || reader.read(&mut [0]).unwrap_err().kind());
        let begun = Instant::now();
        writer.shutdown();
        assert_eq!(reading.join().unwrap(), ErrorKind::ConnectionAborted);
        assert_prompt(begun);
        assert_eq!(
            writer.write(&mut [1]).unwrap_err().kind(),
            ErrorKind::ConnectionAborted
        );
    }
}

/// Writes until the socket is full, and answers once nothing has been taken for a while. The frames
/// are small: a system that is short of memory has little room for a socket.
fn fill(writer: &WsWriter) -> thread::JoinHandle<std::io::Error> {
    let filling = writer.clone();
    let blocked = thread::spawn(move || {
        loop {
            if let Err(error) = filling.write(&mut vec![0; 4 * KIB]) {
                return error;
            }
        }
    });
    let (mut before, mut still) = (0, 0);
    while still < 4 {
        thread::park_timeout(Duration::from_millis(100));
        assert!(!blocked.is_finished(), "an error came before it was full");
        let sent = writer.counters().sent;
        still = if sent == before && sent > 0 {
            still + 1
        } else {
            0
        };
        before = sent;
    }
    blocked
}

#[test]
fn a_shutdown_wakes_a_writer_and_those_behind_it() {
    for secure in [false, true] {
        let ((_reader, writer), _server) = link(secure);
        let blocked = fill(&writer);
        let behind = writer.clone();
        let waiting = thread::spawn(move || behind.write(&mut [1]).unwrap_err());
        let begun = Instant::now();
        writer.shutdown();
        assert_eq!(blocked.join().unwrap().kind(), ErrorKind::ConnectionAborted);
        waiting.join().unwrap();
        assert_prompt(begun);
    }
}

#[test]
fn a_goodbye_never_waits() {
    let ((_reader, writer), _server) = link(false);
    let blocked = fill(&writer);
    let begun = Instant::now();
    writer.close();
    blocked.join().unwrap();
    assert_prompt(begun);
}

#[test]
fn a_dropped_reader_ends_the_link() {
    let ((reader, writer), (mut from_client, _to_client)) = link(false);
    drop(reader);
    assert!(writer.write(&mut [1]).is_err());
    assert_eq!(from_client.read(&mut [0]).unwrap(), 0);
}

#[test]
fn a_reset_is_an_error() {
    let ((mut reader, writer), raw) = with_raw_client();
    writer.write(&mut [0; 100]).unwrap();
    // Closing with unread input resets the connection.
    let mut byte = [0];
    (&raw).read_exact(&mut byte).unwrap();
    drop(raw);
    let error = reader.read(&mut [0]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
}
