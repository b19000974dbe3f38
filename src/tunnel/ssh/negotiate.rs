//! Negotiation of algorithms: KEXINIT (RFC 4253 §7.1) written, read and compared.

use ring::rand::{SecureRandom, SystemRandom};

use super::error::Error;
use super::hostkey::HostKeyAlgorithm;
use super::names::{self, Role, msg};
use super::packet::Cipher;
use super::wire::{Fields, Put};

/// Algorithms that this side offers.
#[derive(Debug, Clone)]
pub(super) struct Proposal {
    pub(super) role: Role,
    pub(super) ciphers: Vec<Cipher>,
    pub(super) host_keys: Vec<HostKeyAlgorithm>,
}

/// Algorithms that both sides agreed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Algorithms {
    pub(super) host_key: HostKeyAlgorithm,
    pub(super) client_to_server: Cipher,
    pub(super) server_to_client: Cipher,
    /// The peer keeps strict key exchange; only the first KEXINIT says so.
    pub(super) strict: bool,
    /// The peer has sent a first packet for another key exchange, to be ignored.
    pub(super) wrong_guess: bool,
}

impl Proposal {
    /// The KEXINIT message. `first`: strict key exchange is offered in the first only.
    pub(super) fn message(&self, first: bool) -> Result<Vec<u8>, Error> {
        let mut cookie = [0; 16];
        SystemRandom::new()
            .fill(&mut cookie)
            .map_err(|_| Error::NoRandom)?;
        let mut out = Vec::with_capacity(512);
        out.put_byte(msg::KEXINIT);
        out.put(&cookie);
        out.put_names(
            names::KEX
                .into_iter()
                .chain(first.then(|| self.role.strict_kex())),
        );
        out.put_names(self.host_keys.iter().map(|key| key.name()));
        for _ in 0..2 {
            out.put_names(self.ciphers.iter().map(|cipher| cipher.name()));
        }
        for _ in 0..2 {
            out.put_names(names::MACS.into_iter());
        }
        for _ in 0..2 {
            out.put_names([names::NO_COMPRESSION].into_iter());
        }
        // No languages, no guessed packet, the reserved number.
        out.put(&[0; 4 + 4 + 1 + 4]);
        Ok(out)
    }

    /// Reads the peer's KEXINIT and chooses (RFC 4253 §7.1: the client's order decides).
    pub(super) fn agree(&self, theirs: &[u8]) -> Result<Algorithms, Error> {
        let mut fields = Fields::new(theirs);
        fields.bytes(1 + 16)?;
        let kex = fields.names()?;
        let host_keys = fields.names()?;
        let up = fields.names()?;
        let down = fields.names()?;
        // MACs: not used, every cipher brings its own tag.
        fields.string()?;
        fields.string()?;
        let compressions = [fields.names()?, fields.names()?];
        fields.string()?;
        fields.string()?;
        let guessed = fields.boolean()?;
        fields.uint32()?;

        for mut compression in compressions {
            if !compression.any(|name| name == names::NO_COMPRESSION) {
                return Err(Error::NoCommonAlgorithm("compression"));
            }
        }
        let our_keys = || self.host_keys.iter().map(|key| key.name());
        let chosen_kex = self.choose(names::KEX.into_iter(), kex.clone(), "key exchange")?;
        let chosen_key = self.choose(our_keys(), host_keys.clone(), "host key algorithm")?;
        // RFC 4253 §7: right only when both preferred names are the chosen ones on both sides.
        let right = kex.clone().next() == Some(chosen_kex)
            && names::KEX.first() == Some(&chosen_kex)
            && host_keys.clone().next() == Some(chosen_key)
            && our_keys().next() == Some(chosen_key);
        Ok(Algorithms {
            host_key: find(&self.host_keys, |key| key.name() == chosen_key)?,
            client_to_server: self.cipher(up)?,
            server_to_client: self.cipher(down)?,
            strict: kex
                .clone()
                .any(|name| name == self.role.peer().strict_kex()),
            wrong_guess: guessed && !right,
        })
    }

    fn cipher<'a>(&self, theirs: impl Iterator<Item = &'a str> + Clone) -> Result<Cipher, Error> {
        let ours = self.ciphers.iter().map(|cipher| cipher.name());
        let chosen = self.choose(ours, theirs, "cipher")?;
        find(&self.ciphers, |cipher| cipher.name() == chosen)
    }

    /// The first of the client's names that the server has too.
    fn choose<'a>(
        &self,
        ours: impl Iterator<Item = &'static str> + Clone,
        theirs: impl Iterator<Item = &'a str> + Clone,
        kind: &'static str,
    ) -> Result<&'static str, Error> {
        let has = |name: &str| theirs.clone().any(|other| other == name);
        let chosen = match self.role {
            Role::Client => ours.clone().find(|name| has(name)),
            Role::Server => theirs
                .clone()
                .find_map(|name| ours.clone().find(|own| *own == name)),
        };
        chosen.ok_or(Error::NoCommonAlgorithm(kind))
    }
}

fn find<T: Copy>(list: &[T], is: impl Fn(&T) -> bool) -> Result<T, Error> {
    list.iter()
        .copied()
        .find(is)
        .ok_or(Error::NoCommonAlgorithm("algorithm"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer(role: Role) -> Proposal {
        Proposal {
            role,
            ciphers: Cipher::preferred(),
            host_keys: HostKeyAlgorithm::ALL.to_vec(),
        }
    }

    /// A peer's KEXINIT with these lists.
    fn kexinit(kex: &str, keys: &str, cipher: &str, compression: &str, guess: bool) -> Vec<u8> {
        let mut out = vec![msg::KEXINIT];
        out.put(&[9; 16]);
        for list in [
            kex,
            keys,
            cipher,
            cipher,
            "",
            "",
            compression,
            compression,
            "",
            "",
        ] {
            out.put_string(list.as_bytes());
        }
        out.put_bool(guess);
        out.put_u32(0);
        out
    }

    #[test]
    fn two_of_us_agree() {
        let [client, server] = [Role::Client, Role::Server].map(offer);
        let here = client.agree(&server.message(true).unwrap()).unwrap();
        let there = server.agree(&client.message(true).unwrap()).unwrap();
        assert_eq!(here, there);
        assert!(here.strict);
        assert_eq!(here.host_key, HostKeyAlgorithm::EcdsaP256);
        assert!(
            !client
                .agree(&server.message(false).unwrap())
                .unwrap()
                .strict
        );
    }

    #[test]
    fn the_clients_order_decides() {
        let theirs = kexinit(
            "curve25519-sha256",
            "rsa-sha2-512,ssh-ed25519",
            "aes256-gcm@openssh.com,chacha20-poly1305@openssh.com",
            "zlib,none",
            false,
        );
        let client = offer(Role::Client).agree(&theirs).unwrap();
        assert_eq!(client.host_key, HostKeyAlgorithm::Ed25519);
        let server = offer(Role::Server).agree(&theirs).unwrap();
        assert_eq!(server.host_key, HostKeyAlgorithm::RsaSha512);
        assert_eq!(server.client_to_server, Cipher::Aes256Gcm);
    }

    #[test]
    fn what_is_not_offered_is_refused() {
        let good = [
            "curve25519-sha256",
            "ssh-ed25519",
            "aes128-gcm@openssh.com",
            "none",
        ];
        let bad = [
            ("diffie-hellman-group1-sha1", "key exchange"),
            ("ssh-rsa", "host key algorithm"),
            ("aes128-ctr,3des-cbc,none", "cipher"),
            ("zlib", "compression"),
        ];
        for role in [Role::Client, Role::Server] {
            for (at, (name, kind)) in bad.into_iter().enumerate() {
                let mut lists = good;
                lists[at] = name;
                let theirs = kexinit(lists[0], lists[1], lists[2], lists[3], false);
                assert_eq!(
                    offer(role).agree(&theirs),
                    Err(Error::NoCommonAlgorithm(kind))
                );
            }
        }
    }

    #[test]
    fn a_guess_is_right_only_when_both_lists_begin_alike() {
        let guess = |kex, keys| {
            let theirs = kexinit(kex, keys, "aes128-gcm@openssh.com", "none", true);
            offer(Role::Server).agree(&theirs).unwrap().wrong_guess
        };
        assert!(!guess("curve25519-sha256", "ecdsa-sha2-nistp256"));
        assert!(guess(
            "ecdh-sha2-nistp256,curve25519-sha256",
            "ecdsa-sha2-nistp256"
        ));
        assert!(guess("curve25519-sha256", "ssh-ed25519"));
    }

    #[test]
    fn every_cut_is_an_error() {
        let whole = offer(Role::Client).message(true).unwrap();
        for end in 0..whole.len() {
            assert!(offer(Role::Server).agree(&whole[..end]).is_err());
        }
    }
}
