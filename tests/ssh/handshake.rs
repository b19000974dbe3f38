//! Key exchange and login between two ends, however the bytes are cut.

use crate::fixture::{Pair, Told};
use postern::tunnel::ssh::{Cipher, Config, DisconnectReason, Error, HostKeyAlgorithm, KeyKind};

fn config(cipher: Cipher) -> Config {
    let mut config = Config::default();
    config.ciphers = vec![cipher];
    config
}

#[test]
fn each_cipher_with_each_host_key_in_pieces_of_every_size() {
    for cipher in Cipher::preferred() {
        for key in [KeyKind::Ed25519, KeyKind::EcdsaP256] {
            for piece in [1, 2, 3, 7, 16, 64, 1000, usize::MAX] {
                let mut pair = Pair::new(&config(cipher), &Config::default(), key);
                pair.log_in(piece);
                assert!(pair.client.session.borrow().is_open());
                assert!(pair.server.session.borrow().is_open());
            }
        }
    }
}

#[test]
fn the_identification_is_chisels() {
    let mut pair = Pair::new(&Config::default(), &Config::default(), KeyKind::Ed25519);
    let first = pair.client.send(1);
    assert_eq!(first, b"SSH-chisel-v3-client\r\n");
    assert_eq!(pair.server.send(1), b"SSH-chisel-v3-server\r\n");
}

#[test]
fn a_client_skips_a_servers_preface_and_not_for_ever() {
    let mut pair = Pair::new(&Config::default(), &Config::default(), KeyKind::Ed25519);
    pair.client.incoming.extend(b"welcome\r\nto this host\n");
    pair.log_in(5);

    let mut pair = Pair::new(&Config::default(), &Config::default(), KeyKind::Ed25519);
    pair.client.incoming.extend(b"hm\n".repeat(33));
    pair.client.receive(usize::MAX, pair.now);
    assert_eq!(pair.client.failure(), Some(&Error::NotSsh));
}

#[test]
fn what_is_no_ssh_is_named_so() {
    let mut pair = Pair::new(&Config::default(), &Config::default(), KeyKind::Ed25519);
    pair.server.incoming.extend(b"GET / HTTP/1.1\r\n");
    pair.server.receive(usize::MAX, pair.now);
    assert_eq!(pair.server.failure(), Some(&Error::NotSsh));
    assert!(!pair.server.session.borrow().is_open());
}

#[test]
fn a_wrong_password_may_be_mended_five_times() {
    let mut pair = Pair::new(&Config::default(), &Config::default(), KeyKind::Ed25519);
    pair.run(usize::MAX);
    for attempt in 1..=6 {
        pair.client
            .session
            .borrow_mut()
            .authenticate("me", "wrong")
            .unwrap();
        pair.run(usize::MAX);
        assert!(matches!(
            pair.server.told().last(),
            Some(Told::Password(..))
        ));
        pair.server.session.borrow_mut().answer_auth(false).unwrap();
        pair.run(usize::MAX);
        let told = pair.client.told();
        match (attempt, told.last().unwrap()) {
            (6, Told::Failed(Error::Disconnected { code: 14, .. })) => {}
            (1..=5, Told::LoginRefused) => {}
            other => panic!("{other:?}"),
        }
    }
    assert!(pair.server.session.borrow_mut().answer_auth(true).is_err());
}

#[test]
fn a_right_password_after_a_wrong_one_logs_in() {
    let mut pair = Pair::new(&Config::default(), &Config::default(), KeyKind::EcdsaP256);
    pair.run(usize::MAX);
    for right in [false, true] {
        pair.client
            .session
            .borrow_mut()
            .authenticate("me", "x")
            .unwrap();
        pair.run(usize::MAX);
        pair.server.session.borrow_mut().answer_auth(right).unwrap();
        pair.run(usize::MAX);
    }
    assert_eq!(pair.client.told().pop(), Some(Told::LoggedIn));
}

#[test]
fn nothing_is_sent_to_log_in_before_the_host_key_is_proved() {
    let mut pair = Pair::new(&Config::default(), &Config::default(), KeyKind::Ed25519);
    let early = pair
        .client
        .session
        .borrow_mut()
        .authenticate("me", "secret");
    assert!(matches!(early, Err(Error::Misuse(_))));
    pair.run(usize::MAX);
    // The key is shown, and nobody has said yes: the client is silent.
    assert!(matches!(pair.client.told()[..], [Told::HostKey(_)]));
    assert!(!pair.client.session.borrow().has_output());
    assert_eq!(pair.server.told(), []);
    pair.client
        .session
        .borrow_mut()
        .disconnect(DisconnectReason::HostKeyNotVerifiable, "unknown key");
    pair.run(usize::MAX);
    assert!(matches!(
        pair.server.failure(),
        Some(Error::Disconnected { code: 9, text }) if text == "unknown key"
    ));
}

#[test]
fn ends_without_a_common_algorithm_part_with_a_reason() {
    let mut pair = Pair::new(
        &config(Cipher::Aes128Gcm),
        &config(Cipher::Chacha20Poly1305),
        KeyKind::Ed25519,
    );
    pair.run(usize::MAX);
    assert_eq!(
        pair.server.failure(),
        Some(&Error::NoCommonAlgorithm("cipher"))
    );
    assert_eq!(
        pair.client.failure(),
        Some(&Error::NoCommonAlgorithm("cipher"))
    );

    let mut rsa = Config::default();
    rsa.host_keys = vec![HostKeyAlgorithm::RsaSha512];
    let mut pair = Pair::new(&rsa, &Config::default(), KeyKind::Ed25519);
    pair.run(usize::MAX);
    assert_eq!(
        pair.client.failure(),
        Some(&Error::NoCommonAlgorithm("host key algorithm"))
    );
}

#[test]
fn no_host_key_is_shown_after_a_change_to_what_its_signature_covers() {
    let (clean, shown) = with_flip(usize::MAX);
    assert!(shown);
    let covered = covered(&clean);
    assert!(covered.len() > 400);
    for at in covered {
        assert!(!with_flip(at).1, "byte {at} of {}", clean.len());
    }
}

/// Bytes of a server during key exchange, with one bit flipped on the way. Also true if the client accepts its proof.
fn with_flip(at: usize) -> (Vec<u8>, bool) {
    let mut pair = Pair::new(&Config::default(), &Config::default(), KeyKind::Ed25519);
    let mut seen = Vec::new();
    for _ in 0..4 {
        let up = pair.client.send(9);
        pair.server.incoming.extend(up);
        pair.server.receive(usize::MAX, pair.now);
        let mut down = pair.server.send(9);
        if (seen.len()..seen.len() + down.len()).contains(&at) {
            down[at - seen.len()] ^= 0x20;
        }
        seen.extend_from_slice(&down);
        pair.client.incoming.extend(down);
        pair.client.receive(usize::MAX, pair.now);
    }
    let shown = |told: &Told| matches!(told, Told::HostKey(_));
    (seen, pair.client.told.iter().any(shown))
}

/// The places of the identification and the payloads of KEXINIT and ECDH_REPLY.
fn covered(stream: &[u8]) -> Vec<usize> {
    let mut start = "SSH-chisel-v3-server\r\n".len();
    let mut places: Vec<usize> = (0..start - 2).collect();
    for _ in 0..2 {
        let length = u32::from_be_bytes(stream[start..start + 4].try_into().unwrap()) as usize;
        let padding = usize::from(stream[start + 4]);
        places.extend(start + 5..start + 4 + length - padding);
        start += 4 + length;
    }
    places
}

#[test]
fn an_injected_packet_is_refused_by_strict_key_exchange() {
    // CVE-2023-48795: IGNORE in the clear, before or within the exchange, from the middle.
    let ignore = [0, 0, 0, 12, 6, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    for after in 0..4 {
        let mut pair = Pair::new(&Config::default(), &Config::default(), KeyKind::Ed25519);
        let mut batches = 0;
        for _ in 0..8 {
            let up = pair.client.send(9);
            pair.server.incoming.extend(up);
            pair.server.receive(usize::MAX, pair.now);
            while pair.server.session.borrow().has_output() {
                let down = pair.server.send(1);
                pair.client.incoming.extend(down);
                if batches == after {
                    pair.client.incoming.extend(ignore);
                }
                batches += 1;
            }
            pair.client.receive(usize::MAX, pair.now);
        }
        let failure = pair.client.failure().or(pair.server.failure());
        match after {
            0 | 1 => assert!(
                matches!(failure, Some(Error::Protocol(_))),
                "{after}: {failure:?}"
            ),
            // Behind NEWKEYS nothing in the clear is taken for a packet.
            2 => assert!(failure.is_some(), "{after}: {failure:?}"),
            _ => assert!(batches <= after),
        }
    }
}
