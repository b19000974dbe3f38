use std::io::Read;
use std::net::TcpListener;
use std::sync::atomic::Ordering;

use super::*;
use crate::tunnel::mux::stats::Traffic;

fn pair() -> (TcpStream, Arc<Socket>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let visitor = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let socket = Socket::new(listener.accept().unwrap().0).unwrap();
    (visitor, Arc::new(socket))
}

fn attached(traffic: &Arc<Traffic>) -> (StreamState, TcpStream) {
    let mut state = StreamState::offered(StreamPermit::new(traffic, None, Vec::new()));
    let (visitor, socket) = pair();
    assert!(state.attach(&socket).0);
    (state, visitor)
}

#[test]
fn a_socket_that_stays_open_when_the_peer_has_closed_lingers_and_is_cut() {
    let (mut state, mut visitor) = attached(&Arc::default());
    assert_eq!(state.on_data(b"abc", false).consumed, 3);
    let effects = state.on_eof();
    assert!(!effects.close_channel && !effects.linger);
    let Some((socket, Shutdown::Write)) = effects.shut else {
        panic!("the visitor is not told of the end");
    };
    socket.shutdown(Shutdown::Write);
    let mut all = Vec::new();
    visitor.read_to_end(&mut all).unwrap();
    assert_eq!(all, b"abc");
    let effects = state.on_closed();
    assert!(effects.close_channel && effects.linger);
    assert!(matches!(state.cut().shut, Some((_, Shutdown::Both))));
}

#[test]
fn what_the_socket_does_not_take_comes_before_its_end() {
    let (mut state, _visitor) = attached(&Arc::default());
    let mut begun = 0;
    while begun == 0 {
        begun += usize::from(state.on_data(&[0; 65_536], false).start_drain);
    }
    assert!(
        !state.on_data(b"x", false).start_drain,
        "one thread is enough"
    );
    let effects = state.on_closed();
    assert!(effects.shut.is_none() && !effects.close_channel);
    assert!(state.end_drain().is_none());
    while state.next_chunk().is_some() {}
    assert!(!state.awaits_data());
    let effects = state.end_drain().unwrap();
    assert!(effects.close_channel && effects.linger);
    assert!(matches!(effects.shut, Some((_, Shutdown::Write))));
}

#[test]
fn in_any_order_of_ends_the_channel_is_closed_once_and_its_permit_freed() {
    let ends: [fn(&mut StreamState) -> Effects; 5] = [
        StreamState::on_eof,
        StreamState::on_closed,
        |state| state.on_finished(true),
        |state| state.on_finished(false),
        StreamState::on_broken,
    ];
    for first in 0..ends.len() {
        let traffic = Arc::new(Traffic::default());
        let (mut state, _visitor) = attached(&traffic);
        let order = ends.iter().cycle().skip(first).take(ends.len());
        let closed: usize = order
            .map(|end| usize::from(end(&mut state).close_channel))
            .sum();
        assert_eq!(closed, 1, "from {first} on");
        assert_eq!(traffic.streams.load(Ordering::Relaxed), 0);
        assert!(!state.abort().close_channel);
    }
}

#[test]
fn a_visitor_that_nobody_confirmed_is_turned_away_with_its_permit() {
    for end in [
        |state: &mut StreamState| state.on_refused(true),
        StreamState::abort,
    ] {
        let traffic = Arc::new(Traffic::default());
        let permit = StreamPermit::new(&traffic, None, Vec::new());
        let (visitor, _socket) = pair();
        let mut state = StreamState::asked_for(visitor, permit);
        assert!(!state.is_late(Instant::now()));
        assert!(state.is_late(Instant::now() + OPEN_WITHIN));
        let effects = end(&mut state);
        assert!(effects.visitor.is_some() && effects.freed.is_some() && !state.is_open());
    }
}

#[test]
fn a_reader_in_this_process_is_woken_when_it_waits_and_gets_all_before_the_end() {
    let waker = Arc::new(Waker::new().unwrap());
    let mut state = StreamState::asked_for_local(Arc::clone(&waker));
    let read = |state: &mut StreamState| state.read(&mut [0; 2]).0;
    let blocked = read(&mut state).unwrap_err();
    assert_eq!(blocked.kind(), io::ErrorKind::WouldBlock);
    assert!(state.on_data(b"ab", false).wake.is_some());
    assert!(
        state.on_data(b"c", false).wake.is_none(),
        "it has been woken"
    );
    assert!(state.abort().wake.is_none());
    assert_eq!(read(&mut state).unwrap(), 2);
    assert_eq!(read(&mut state).unwrap(), 1);
    let aborted = read(&mut state).unwrap_err();
    assert_eq!(aborted.kind(), io::ErrorKind::ConnectionAborted);
    let mut state = StreamState::asked_for_local(waker);
    assert!(state.on_eof().shut.is_none());
    assert_eq!(read(&mut state).unwrap(), 0);
}

#[test]
fn whoever_reads_nothing_is_woken_by_the_end_and_not_for_ever_by_what_lies_there() {
    let waker = Arc::new(Waker::new().unwrap());
    let traffic = Arc::new(Traffic::default());
    let permit = StreamPermit::new(&traffic, None, Vec::new());
    let mut state = StreamState::offered_to(Arc::clone(&waker), permit);
    let wake = |effects: Effects| effects.wake.map(WakeUp::wake).is_some();
    state.watch(true);
    assert!(wake(state.on_data(b"ab", false)));
    state.watch(true);
    assert!(waker.clear(), "there is something to read");
    state.watch(false);
    assert!(!waker.clear(), "nobody wants to know");
    assert!(!state.has_gone());
    let closed = state.on_closed();
    assert!(closed.freed.is_some(), "another may take its place");
    assert!(wake(closed));
    state.watch(false);
    assert!(waker.clear() && state.has_gone());
    assert_eq!(state.read(&mut [0; 4]).0.unwrap(), 2);
}
