//! Advice if the web client cannot start.

use super::error::DbError;

/// Returns advice after `error`, if there is any.
pub(super) fn hint(error: &DbError) -> Option<&'static str> {
    match error {
        DbError::Unreachable(_) => {
            Some("check that the database server runs and that host and port are right")
        }
        DbError::Denied(error) => Some(of_denial(error.code)),
        DbError::Statement(error) if EXPIRED.contains(&error.code) => Some(of_denial(error.code)),
        DbError::Tls(message) => Some(of_tls(message)),
        DbError::Auth(message) if message.contains("sign-in method") => Some(
            "have an administrator give the account another method, such as MySQL's caching_sha2_password",
        ),
        _ => None,
    }
}

/// ER_MUST_CHANGE_PASSWORD, and ER_MUST_CHANGE_PASSWORD_LOGIN at sign-in.
pub(super) const EXPIRED: [u16; 2] = [1820, 1862];

/// By the server's error number (MySQL and MariaDB, "Server error message reference").
fn of_denial(code: u16) -> &'static str {
    match code {
        // ER_DBACCESS_DENIED_ERROR, ER_BAD_DB_ERROR
        1044 | 1049 => "name another database with --db-name, or none",
        // ER_CON_COUNT_ERROR, ER_TOO_MANY_USER_CONNECTIONS, ER_USER_LIMIT_REACHED
        1040 | 1203 | 1226 => "close other connections to the server, or try again later",
        // ER_HOST_IS_BLOCKED
        1129 => {
            "have an administrator run FLUSH HOSTS, or TRUNCATE TABLE performance_schema.host_cache"
        }
        // ER_HOST_NOT_PRIVILEGED
        1130 => "have an administrator create an account for this machine's address",
        code if EXPIRED.contains(&code) => {
            "the password has expired; run 'postern mysql' with this account in a terminal to set a new one"
        }
        // ER_ACCOUNT_HAS_BEEN_LOCKED of both, ER_USER_ACCESS_DENIED_FOR_USER_ACCOUNT_BLOCKED_BY_PASSWORD_LOCK
        3118 | 3955 | 4151 => "have an administrator unlock it: ALTER USER ... ACCOUNT UNLOCK",
        // ER_SECURE_TRANSPORT_REQUIRED
        3159 => "remove --tls off: the server accepts only TLS and Unix sockets",
        _ => {
            "check the user name, the password and the database name; the account may also be limited to certain hosts, to TLS or to a client certificate"
        }
    }
}

fn of_tls(message: &str) -> &'static str {
    if message.contains("not valid for") {
        return "the certificate is for another name, or for none (as MySQL's own are): set SSL_CERT_FILE to the authority's certificate (ca.pem in the server's data directory) and use --tls verify-ca";
    }
    if message.contains("UnknownIssuer") || message.contains("SSL_CERT_FILE") {
        return "set SSL_CERT_FILE to the certificate of the server's authority; for MySQL that is ca.pem in its data directory";
    }
    "--tls off|prefer|require|verify-ca|verify sets how TLS is used"
}
