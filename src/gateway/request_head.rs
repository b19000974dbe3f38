//! Head of a request as a relay sends it towards the application: written afresh, line by line.

use std::net::{IpAddr, Ipv4Addr};

use super::cookies::{self, OURS};
use super::forwarded::{ForwardDefaults, ForwardedOrigin, Host};
use crate::http::h1::body::Framing;
use crate::http::h1::head::Head;
use crate::http::h1::hop_by_hop;
use crate::http::h1::hop_by_hop::{HOP_BY_HOP, Upgrade, named_by_connection, write_line};

/// Header lines that only proxies may write: applications believe them about a visitor's address or name, or about the
/// request. `Host` is written afresh, `Proxy-Authorization` is for this hop, and some applications take `Proxy` for a
/// setting of their own.
#[rustfmt::skip]
const DROPPED: &[&str] = &[
    "proxy-authorization", "proxy", "host", "forwarded", "forwarded-for", "x-forwarded", "x-real-ip",
    "client-ip", "true-client-ip", "cf-pseudo-ipv4", "fastly-client-ip", "fly-client-ip", "x-client-ip",
    "x-cluster-client-ip", "x-originating-ip", "x-original-forwarded-for", "x-original-host", "x-original-url",
    "x-rewrite-url", "x-azure-clientip", "x-envoy-external-address", "proxy-client-ip", "wl-proxy-client-ip",
    "http-client-ip", "x-proxyuser-ip", "x-appengine-user-ip", "x-vercel-forwarded-for", "do-connecting-ip",
    "x-nf-client-connection-ip", "x-forward-for", "forwarded-host", "x-host", "x-http-host-override",
    "x-scheme", "x-url-scheme", "x-proto", "front-end-https", "x-original-uri", "base-url", "client-cert",
    "client-cert-chain", "x-arr-clientcert", "x-auth-email", "x-auth-groups", "x-auth-user", "x-auth-username",
    "x-anonymous-consumer", "x-credential-identifier", "x-credential-username", "x-sendfile-type",
    "x-auth-name", "x-auth-roles", "x-auth-subject", "x-auth-userid", "auth-user", "logon-user", "proxy-user", "sm-user", "sm-universalid",
    "smuser", "kubeflow-userid", "x-grafana-user", "x-rh-identity", "x-token-subject", "x-userinfo", "x-client-cn",
    "x-client-subject", "x-client-verified", "x-realip", "x-clientip", "x-azure-socketip", "x-https",
    "x-middleware-subrequest", "x-original-method",
];
/// Families of such lines, by how their names begin: proxies that sign people in (oauth2-proxy, Authelia, authentik,
/// Tailscale, Cloudflare, Google, Azure, AWS, Kong, Pomerium, Kubernetes, Shibboleth, mod_auth_openidc and mod_auth_mellon)
/// name them there, servers that end TLS the certificate of a client; nginx and Rack take orders about files; ours tell
/// applications of this program.
#[rustfmt::skip]
const DROPPED_FAMILIES: &[&str] = &[
    "x-forwarded-", "x-postern-", "cf-access-", "cf-connecting-", "mellon-", "oidc-", "remote-", "shib-",
    "ssl-client", "tailscale-", "x-accel-", "x-amzn-mtls-", "x-amzn-oidc-", "x-auth-request-",
    "x-authenticated-", "x-authentik-", "x-client-cert", "x-client-dn", "x-client-verify", "x-consumer-",
    "x-goog-authenticated-", "x-goog-iap-", "x-ms-client-principal", "x-ms-token-", "x-pomerium-", "x-remote-",
    "x-ssl-", "x-token-user-", "x-webauth-", "webauth-", "http-remote-", "iv-", "ngrok-auth-", "proxy-remote-", "ssl-cert",
    "tls-client-", "wl-proxy-", "x-apigateway-api-", "x-endpoint-api-", "x-logon-", "x-proxy-remote-", "x-replit-user-",
    "x-sandstorm-", "x-spiffe-", "x-tls-client-", "x-vouch-",
];
/// The family that this program writes.
const OURS_FAMILY: &str = "x-postern-";

/// Tells a request that comes back (RFC 8586). It passes as every intermediary left it.
const CDN_LOOP: &str = "CDN-Loop";

/// The head for the application, without a cookie of ours. `loop_id` names this gateway; `kept` are header lines that the
/// trusted proxy which sent the request may write. Cookies are left out unless `has_cookies`.
pub(super) fn head(
    head: &Head,
    host: &[u8],
    origin: &ForwardedOrigin,
    loop_id: &str,
    kept: &[String],
    has_cookies: bool,
) -> Vec<u8> {
    let mut out = Vec::with_capacity(1024);
    for part in [&head.method, " ", &head.target, " HTTP/1.1\r\n"] {
        out.extend_from_slice(part.as_bytes());
    }
    write_line(&mut out, "Host", host);
    let named = named_by_connection(&head.headers);
    let is_kept = |name: &str| kept.iter().any(|kept| name.eq_ignore_ascii_case(kept));
    let lines = head.headers.iter();
    for (name, value) in lines.filter(|(name, _)| passes(name, &named) || is_kept(name)) {
        if !is(name, "cookie") {
            write_line(&mut out, name, value);
        } else if has_cookies && let Some(left) = cookies::without(value, &OURS) {
            write_line(&mut out, name, &left);
        }
    }
    origin.write(&mut out);
    write_line(&mut out, CDN_LOOP, loop_id.as_bytes());
    end(head, &mut out);
    out
}

/// The head for the application as a relay writes it for a visitor on this machine, who asks a site by this host.
pub(crate) fn head_of_local_visitor(sent: &Head, host: &str, is_secure: bool) -> Vec<u8> {
    let usual = if is_secure { 443 } else { 80 };
    let defaults = ForwardDefaults {
        trusted: &[],
        secure: is_secure,
        port: Host::port_of(host).unwrap_or(usual),
    };
    let visitor = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let origin = ForwardedOrigin::read(&sent.headers, visitor, host, &defaults);
    head(sent, host.as_bytes(), &origin, "postern-health", &[], true)
}

/// Writes the end of every head for an application: how the body is framed, and whether another protocol or trailers
/// are asked for.
pub(crate) fn end(head: &Head, out: &mut Vec<u8>) {
    match head.framing {
        Framing::Chunked => write_line(out, "Transfer-Encoding", b"chunked"),
        Framing::Length(0) if head.headers.all("content-length").next().is_none() => {}
        Framing::Length(length) => {
            write_line(out, "Content-Length", length.to_string().as_bytes());
        }
        Framing::UntilClose => {}
    }
    if let Some(protocol) = Upgrade::passed(head) {
        write_line(out, "Connection", b"Upgrade");
        write_line(out, "Upgrade", protocol.as_bytes());
    } else if hop_by_hop::wants_trailers(head) {
        write_line(out, "Connection", b"TE");
        write_line(out, "TE", b"trailers");
    }
    out.extend_from_slice(b"\r\n");
}

/// True if the request has passed through the gateway of this name already.
pub(super) fn comes_back(head: &Head, loop_id: &str) -> bool {
    head.headers
        .all(CDN_LOOP)
        .flat_map(|value| value.split(|b| *b == b','))
        .filter_map(|info| info.split(|b| *b == b';').next())
        .any(|id| id.trim_ascii().eq_ignore_ascii_case(loop_id.as_bytes()))
}

/// True if the request can be sent twice, and sending it twice has the same effect as once (RFC 9110 section 9.2.2).
pub(crate) fn is_repeatable(head: &Head) -> bool {
    let idempotent = ["GET", "HEAD", "OPTIONS", "PUT", "DELETE"];
    idempotent.contains(&head.method.as_str())
        && head.framing == Framing::Length(0)
        && Upgrade::passed(head).is_none()
}

/// True if the request asks for no action (RFC 9110 section 9.2.1): it may come twice, whatever the outcome of the
/// first.
pub(super) fn is_safe(head: &Head) -> bool {
    is_repeatable(head) && matches!(head.method.as_str(), "GET" | "HEAD")
}

/// True if a line of this name passes. Many applications read every character of a name that is no letter and no digit
/// as `_` (RFC 3875 section 4.1.18), so names are compared in that way.
fn passes(name: &str, named: &[String]) -> bool {
    let mut dropped = HOP_BY_HOP.iter().chain(DROPPED);
    // `Connection` cannot hide a loop.
    let is_named = named.iter().any(|named| name.eq_ignore_ascii_case(named));
    !dropped.any(|dropped| is(name, dropped))
        && !DROPPED_FAMILIES.iter().any(|family| begins(name, family))
        && (!is_named || name.eq_ignore_ascii_case(CDN_LOOP))
}

/// True if a header line is one that this program writes: nobody else's reaches an application.
pub(crate) fn is_ours(name: &str) -> bool {
    begins(name, OURS_FAMILY)
}

/// True if a line of this name may never be handed on for a proxy in front: it says where the request goes or how it is framed.
pub(crate) fn is_never_kept(name: &str) -> bool {
    let fixed = ["host", "forwarded", "x-real-ip", "cookie", "content-length"];
    HOP_BY_HOP.iter().chain(&fixed).any(|line| is(name, line))
        || begins(name, "x-forwarded-")
        || is_ours(name)
}

fn begins(name: &str, family: &str) -> bool {
    name.get(..family.len())
        .is_some_and(|begin| is(begin, family))
}

/// True if a header line is the wanted one, as applications compare their names.
pub(crate) fn is(name: &str, wanted: &str) -> bool {
    let same = |(a, b): (u8, u8)| match b {
        b'-' => !a.is_ascii_alphanumeric(),
        b => a.eq_ignore_ascii_case(&b),
    };
    name.len() == wanted.len() && name.bytes().zip(wanted.bytes()).all(same)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_connection_do_not_pass() {
        let named = ["x-mine".to_owned()];
        for name in [
            "Connection",
            "TE",
            "X-Mine",
            "X_Forwarded_For",
            "x-forwarded-anything",
            "Content_Length",
            "Transfer_encoding",
            "Proxy",
            "X.Forwarded.For",
            "X_Real.IP",
            "True-Client-IP",
            "CF_Connecting_IP",
            "X-Client-IP",
            "X-Cluster.Client-IP",
            "Client-IP",
            "X-Original-URL",
            "X~Rewrite!URL",
            "X-Forwarded",
            "Proxy-Client-IP",
            "WL_Proxy_Client_IP",
            "HTTP-Client-IP",
            "X-ProxyUser-Ip",
            "X-Appengine-User-Ip",
            "X-Vercel-Forwarded-For",
            "DO-Connecting-IP",
            "X-Nf-Client-Connection-Ip",
            "X-Forward-For",
            "Forwarded-Host",
            "X-Host",
            "X-HTTP-Host-Override",
            "X-Scheme",
            "X-Url-Scheme",
            "X-Proto",
            "Front-End-Https",
            "X-Original-Uri",
            "Base-Url",
            "Remote-User",
            "X-Remote-User",
            "X-WEBAUTH-USER",
            "x_webauth_role",
            "Remote-Groups",
            "X-Auth-Request-Email",
            "X-authentik-username",
            "Tailscale-User-Login",
            "Cf-Access-Jwt-Assertion",
            "X-Goog-Authenticated-User-Email",
            "X-MS-CLIENT-PRINCIPAL",
            "X-MS-CLIENT-PRINCIPAL-NAME",
            "X-SSL-Client-S-DN",
            "SSL_CLIENT_VERIFY",
            "Ssl-Client-Cert",
            "X-Client-Cert",
            "X-Amzn-Oidc-Identity",
            "X-Remote-Group",
            "OIDC_CLAIM_email",
            "X-Consumer-Username",
            "X-Sendfile-Type",
            "X-Accel-Mapping",
            "X-Postern-Link",
            "WL-Proxy-Client-Cert",
            "X-Tls-Client-Cert",
            "Ngrok-Auth-User-Email",
            "X-Vouch-User",
            "SM_USER",
            "iv-creds",
            "AUTH_USER",
            "X-Auth-Userid",
            "X-RealIP",
            "X-Middleware-Subrequest",
        ] {
            assert!(!passes(name, &named), "{name}");
        }
        for name in [
            "Accept",
            "Cookie",
            "X-Forward",
            "X-Mine-Too",
            "Tea",
            "é",
            "Remote",
            "X-Auth-Token",
            "X-Amz-Date",
            "Authorization",
            "X-Client-Version",
            "X-Access-Token",
            "IV",
            "X-Requested-With",
        ] {
            assert!(passes(name, &named), "{name}");
        }
    }
}
