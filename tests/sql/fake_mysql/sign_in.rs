//! Sign-in of the fake's clients.

use std::io;
use std::sync::Arc;

use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::keys::{native_proof, sha2_proof};
use super::packets::{capability, framed, user_and_proof};
use super::{Event, Method, PASSWORD, Stream, USER, Wire};

/// The nonce after a switch.
const SECOND: &[u8; 20] = b"ABCDEFGHIJKLMNOPQRST";

impl Wire {
    fn offers_tls(&self) -> Option<Arc<ServerConfig>> {
        let offered = self.number <= self.shared.script.tls_until;
        self.shared.script.tls.clone().filter(|_| offered)
    }

    fn nonce(&self) -> [u8; 20] {
        let mut nonce = *b"abcdefghijklmnopqrst";
        nonce[0] = b'0' + (self.number % 10) as u8;
        nonce
    }

    /// The whole sign-in, as the script has it.
    pub(super) fn sign_in(&mut self) -> io::Result<()> {
        use Method::*;
        let method = self.shared.script.method;
        let tls = self.offers_tls();
        let greeted = match method {
            Sha2Fast | Sha2Full | Sha2ToNative => "caching_sha2_password",
            Sha256Until(last) if self.number > last => "caching_sha2_password",
            _ => "mysql_native_password",
        };
        let greeting = self.greeting(greeted, tls.is_some());
        let injected = self.shared.script.injected.clone();
        self.raw(&[framed(0, &greeting), injected].concat())?;
        let mut answer = self.receive()?;
        let wants = match answer.get(..4) {
            Some(flags) => u32::from_le_bytes(flags.try_into().unwrap()),
            // A client that leaves says goodbye where it can.
            None => return Err(io::ErrorKind::ConnectionAborted.into()),
        };
        if wants & capability::SSL != 0 {
            self.secure(tls.expect("a client asks for what was offered"))?;
            answer = self.receive()?;
        }
        if answer.len() < 34 {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        let (user, proof) = user_and_proof(&answer);
        self.shared.note(Event::Proof(self.number, proof.clone()));
        let nonce = self.nonce();
        let accepted = user == USER
            && match method {
                Native => proof == native_proof(&nonce),
                Sha2Fast => proof == sha2_proof(&nonce) && self.fast()?,
                Sha2Full => self.full(&nonce)?,
                NativeToSha2 => {
                    self.switch("caching_sha2_password", SECOND)? == sha2_proof(SECOND)
                        && self.fast()?
                }
                NativeToSha2Full => {
                    self.switch("caching_sha2_password", SECOND)?;
                    self.full(SECOND)?
                }
                Sha2ToNative => {
                    self.switch("mysql_native_password", SECOND)? == native_proof(SECOND)
                }
                Sha256Until(last) if self.number > last => self.full(&nonce)?,
                Sha256Until(_) => {
                    let asked = self.switch("sha256_password", SECOND)?;
                    asked == [1] && self.under_our_key(SECOND)?
                }
                Says(packets) => return self.say(packets),
                Switch(plugin) => {
                    self.switch(plugin, SECOND)?;
                    false
                }
            };
        if accepted {
            return self.ok();
        }
        self.error(
            1045,
            "28000",
            &format!("Access denied for user '{user}'@'fake' (using password: YES)"),
        )?;
        Err(io::ErrorKind::PermissionDenied.into())
    }

    fn say(&mut self, packets: &[&[u8]]) -> io::Result<()> {
        for (at, packet) in packets.iter().enumerate() {
            if at > 0 {
                self.reply()?;
            }
            self.send(packet)?;
        }
        Ok(())
    }

    /// Protocol::HandshakeV10.
    fn greeting(&self, plugin: &str, tls: bool) -> Vec<u8> {
        let nonce = self.nonce();
        let capabilities = capability::MYSQL_8 | if tls { capability::SSL } else { 0 };
        let [c0, c1, c2, c3] = capabilities.to_le_bytes();
        let mut packet = vec![10];
        packet.extend(self.shared.script.version.as_bytes());
        packet.push(0);
        packet.extend(self.number.to_le_bytes());
        packet.extend(&nonce[..8]);
        packet.extend([0, c0, c1, 0xff, 2, 0, c2, c3, 21]);
        packet.extend([0; 10]);
        packet.extend(&nonce[8..]);
        packet.push(0);
        packet.extend(plugin.as_bytes());
        packet.push(0);
        packet
    }

    fn secure(&mut self, config: Arc<ServerConfig>) -> io::Result<()> {
        let Stream::Plain(stream) = std::mem::replace(&mut self.stream, Stream::None) else {
            panic!("TLS inside TLS");
        };
        let session = ServerConnection::new(config).map_err(io::Error::other)?;
        self.stream = Stream::Tls(Box::new(StreamOwned::new(session, stream)));
        self.shared.note(Event::Secured(self.number));
        Ok(())
    }

    fn reply(&mut self) -> io::Result<Vec<u8>> {
        let reply = self.receive()?;
        self.shared.note(Event::Reply(self.number, reply.clone()));
        Ok(reply)
    }

    /// Protocol::AuthSwitchRequest.
    fn switch(&mut self, plugin: &str, nonce: &[u8]) -> io::Result<Vec<u8>> {
        self.send(&[&[0xfe], plugin.as_bytes(), &[0], nonce, &[0]].concat())?;
        self.reply()
    }

    /// `caching_sha2_password` finds the password in its cache.
    fn fast(&mut self) -> io::Result<bool> {
        self.send(&[1, 3])?;
        Ok(true)
    }

    /// `caching_sha2_password` wants the password itself: in clear inside TLS, else under its public key.
    fn full(&mut self, nonce: &[u8]) -> io::Result<bool> {
        self.send(&[1, 4])?;
        let reply = self.reply()?;
        if matches!(self.stream, Stream::Tls(_)) {
            return Ok(reply == [PASSWORD.as_bytes(), &[0]].concat());
        }
        Ok(reply == [2] && self.under_our_key(nonce)?)
    }

    /// Sends the public key and takes the password under it.
    fn under_our_key(&mut self, nonce: &[u8]) -> io::Result<bool> {
        let rsa = self.shared.script.rsa.clone();
        let rsa = rsa.expect("a key for the exchange without TLS");
        self.send(&[&[1], rsa.public.as_slice()].concat())?;
        let masked = rsa.decrypt(&self.reply()?);
        let clear: Vec<u8> = masked
            .iter()
            .enumerate()
            .map(|(at, byte)| byte ^ nonce[at % nonce.len()])
            .collect();
        Ok(clear == [PASSWORD.as_bytes(), &[0]].concat())
    }
}
