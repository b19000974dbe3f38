use super::*;
use crate::tunnel::ws::{Counters, WsReader, WsWriter};
use std::net::TcpListener;
use std::time::{Duration, Instant};

fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let one = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (one, listener.accept().unwrap().0)
}

fn writer(socket: TcpStream, stall: Duration) -> WsWriter {
    socket::block(&socket, stall).unwrap();
    WsWriter::new(socket, None, Role::Client)
}

/// A peer that is there but takes nothing: half-open, or stuck.
#[test]
fn a_write_without_progress_ends() {
    let (ours, _theirs) = pair();
    let writer = writer(ours, Duration::from_millis(300));
    let begun = Instant::now();
    let error = loop {
        if let Err(error) = writer.write(&mut vec![0; 1 << 20]) {
            break error;
        }
    };
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    assert!(begun.elapsed() >= Duration::from_millis(300));
    // A frame was cut: nothing may follow it.
    assert_eq!(
        writer.write(&mut [1]).unwrap_err().to_string(),
        "the link has failed"
    );
    let mut reader = WsReader::new(writer, Vec::new());
    assert_eq!(
        reader.read(&mut [0]).unwrap_err().kind(),
        io::ErrorKind::ConnectionAborted
    );
}

#[test]
fn what_is_pending_does_not_grow_while_the_socket_is_full() {
    let (ours, _theirs) = pair();
    let writer = writer(ours, Duration::from_secs(60));
    let shared = writer.shared();
    let mut full = false;
    for _ in 0..200_000 {
        shared.queue_pong(&[7; 125]);
        full |= shared.try_flush_control();
    }
    assert!(full, "the socket never filled");
    assert!(shared.outgoing.lock().queue.len() < 1024);
    assert!(shared.pending.lock().pong.is_some());
}

#[test]
fn only_one_close_frame_is_sent() {
    let (ours, mut theirs) = pair();
    let writer = writer(ours, Duration::from_secs(60));
    let shared = writer.shared();
    shared.queue_close(vec![3, 0xe9]);
    shared.queue_close(vec![3, 0xea]);
    assert!(!shared.try_flush_control());
    writer.close();
    writer.close();
    let mut sent = Vec::new();
    io::Read::read_to_end(&mut theirs, &mut sent).unwrap();
    assert_eq!(
        (sent.len(), sent.first(), sent.get(1)),
        (8, Some(&0x88), Some(&0x82))
    );
}

#[test]
fn a_frame_over_the_cap_is_not_sent() {
    let (ours, _theirs) = pair();
    let writer = writer(ours, Duration::from_secs(60));
    let mut long = vec![0; usize::try_from(MAX_FRAME).unwrap() + 1];
    assert_eq!(
        writer.write(&mut long).unwrap_err().kind(),
        io::ErrorKind::InvalidInput
    );
    writer.write(&mut [1]).unwrap();
    assert_eq!(
        writer.counters(),
        Counters {
            received: 0,
            sent: 1
        }
    );
}

#[test]
fn what_the_socket_did_not_take_at_once_goes_before_the_next_frame() {
    const SIZE: usize = 4000;
    let (ours, theirs) = pair();
    let writer = writer(ours, Duration::from_secs(60));
    assert!(writer.is_clear());
    let mut frames = 0_u32;
    let fits = |count: u32| {
        let text = count.to_be_bytes().repeat(SIZE / 4);
        writer.write_now(&mut text.clone()).unwrap()
    };
    while fits(frames) {
        frames += 1;
    }
    assert!(!writer.is_clear());
    let read = std::thread::spawn(move || {
        socket::block(&theirs, Duration::from_secs(60)).unwrap();
        let theirs = WsWriter::new(theirs, None, Role::Server);
        let mut reader = WsReader::new(theirs, Vec::new());
        for frame in 0..=frames + 1 {
            let mut text = vec![0; SIZE];
            let mut rest = text.as_mut_slice();
            while !rest.is_empty() {
                let count = reader.read(rest).unwrap();
                assert!(count > 0, "it ends within frame {frame}");
                rest = &mut rest[count..];
            }
            assert!(
                text == frame.to_be_bytes().repeat(SIZE / 4),
                "frame {frame}"
            );
        }
    });
    writer.flush().unwrap();
    assert!(writer.is_clear());
    fits(frames + 1);
    writer.flush().unwrap();
    read.join().unwrap();
}
