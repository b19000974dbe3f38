//! Reasons that something is not connected: the table of kinds of failure, whose codes answers have as `error_class`.

/// Exit status of a command that fails.
pub(crate) const FAILED: u8 = 1;
/// Exit status if a server is not reached: trying again may help.
pub(crate) const UNREACHABLE: u8 = 3;
/// Exit status if credentials, a token or a host key are refused: something must be changed first.
pub(crate) const REFUSED: u8 = 4;
/// Exit status if a limit is reached.
pub(crate) const OVER_LIMIT: u8 = 5;

/// Owner of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whose {
    /// The server or the way to it: the server is not reached.
    Away,
    /// The server, for all applications.
    Server,
    /// The server, perhaps for one application: its message tells.
    Words,
    /// The application.
    App,
}

/// Precondition of a successful retry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cure {
    Time,
    /// A change of the application.
    Change,
    /// A change of the credentials, or of the server's decision about them.
    Login,
}

/// A kind of failure, as a row of the table.
pub(crate) struct Row {
    class: ErrorClass,
    /// Code in answers.
    pub(crate) code: &'static str,
    /// Text in a list.
    pub(crate) text: &'static str,
    /// The HTTP status of a call that is refused for it; 0 if it shows only later, in the status.
    pub(crate) http: u16,
    /// The exit status of a command.
    pub(crate) exit: u8,
    pub(crate) whose: Whose,
    pub(crate) cure: Cure,
    /// Hint for a failure without one of its own; may be empty.
    pub(crate) hint: &'static str,
}

macro_rules! classes {
    ($($class:ident $code:literal $text:literal $http:literal $exit:ident $whose:ident $cure:ident $hint:literal)*) => {
        /// A kind of failure.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum ErrorClass {
            $($class,)*
        }

        /// All kinds.
        pub(crate) const CLASSES: &[Row] = &[$(Row {
            class: ErrorClass::$class,
            code: $code,
            text: $text,
            http: $http,
            exit: $exit,
            whose: Whose::$whose,
            cure: Cure::$cure,
            hint: $hint,
        },)*];
    };
}

classes! {
    Network "network" "unreachable" 0 UNREACHABLE Away Time
        "check that the relay runs and is reachable from this machine"
    Dns "dns" "name not found" 0 UNREACHABLE Away Time
        "check the spelling of the relay's name, and the network"
    Proxy "proxy" "proxy error" 0 UNREACHABLE Away Time
        "check the proxy in the environment (HTTPS_PROXY, NO_PROXY)"
    ProxyCredentials "proxy-credentials" "proxy needs credentials" 0 REFUSED Away Time
        "put the proxy's user and password into HTTPS_PROXY"
    Timeout "timeout" "no answer in time" 0 UNREACHABLE Away Time
        ""
    Protocol "protocol" "protocol error" 0 FAILED Away Time
        "check that this version and the server's are compatible"
    Tls "tls" "TLS error" 0 FAILED Server Time
        "check the server's certificate and this machine's clock"
    NotATunnelServer "not-a-tunnel-server" "not a tunnel server" 0 FAILED Server Time
        "another program answers at that port: check the tunnel port"
    AddressRefused "address-refused" "address not allowed" 0 REFUSED Server Time
        "the relay's tunnel address is inside your network: ask its operator"
    HostKeyChanged "host-key-changed" "host key changed" 0 REFUSED Server Time
        "trust the new key only if you know why it has changed"
    WrongPassword "wrong-password" "wrong password" 0 REFUSED Server Login
        "the relay does not know this machine"
    Revoked "revoked" "revoked" 0 REFUSED Server Login
        "ask the relay's operator to allow this machine again; it then reconnects"
    Forbidden "forbidden" "refused" 0 REFUSED Words Login
        "no automatic retry: fix the problem, then connect again"
    Refused "refused" "refused" 0 REFUSED Words Time
        ""
    Limit "limit" "over a limit" 429 OVER_LIMIT Words Time
        "wait a minute, or disconnect applications you do not need"
    QuickSetup "quick-setup" "relay setup failed" 0 FAILED Words Time
        ""
    NoServer "no-server" "no relay" 0 FAILED Words Change
        "add a relay, or choose one in the application"
    NameTaken "name-taken" "site name taken" 0 REFUSED Words Change
        "choose another site name, or ask the relay's operator to transfer it"
    PermissionDenied "permission-denied" "not permitted" 0 REFUSED App Time
        "the relay does not let this connector use that port"
    PortHeld "port-held" "port in use at the relay" 0 UNREACHABLE App Time
        "an earlier connection still uses the port; it is free within a minute"
    OwnListener "own-listener" "own address" 0 FAILED App Time
        "the application's address is postern itself: give another one"
    NotEnforced "not-enforced" "not protected" 0 FAILED App Time
        "the relay cannot enforce these settings: change the application, or use another relay"
    Plugin "plugin" "database error" 0 FAILED App Time
        "check that the database runs, and its address, user and password in the application"
    Expired "expired" "expired" 409 FAILED App Change
        "extend it to share it again"
    Local "local" "local error" 0 FAILED App Time
        "a problem of this machine: see the log (-v)"
}

impl ErrorClass {
    /// Returns its row.
    pub(crate) fn row(self) -> &'static Row {
        let row = CLASSES.iter().find(|row| row.class == self);
        row.expect("each kind has a row")
    }

    /// Code in answers.
    pub(crate) fn code(self) -> &'static str {
        self.row().code
    }

    /// The kind with this code; none for a code of another version.
    pub(crate) fn named(code: &str) -> Option<&'static Row> {
        CLASSES.iter().find(|row| row.code == code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "html/manage/core/failures.js";

    fn sentence(text: &str) -> String {
        let mut letters = text.chars();
        let first = letters.next().map(|first| first.to_uppercase().to_string());
        format!("{}{}", first.unwrap_or_default(), letters.as_str())
    }

    /// `make bless` writes it.
    #[test]
    fn the_page_has_the_same_table() {
        let rows = CLASSES.iter().map(|row| {
            let whose = format!("{:?}", row.whose).to_lowercase();
            let hint = match row.hint {
                "" => String::new(),
                hint => sentence(hint).replace('\'', "\u{2019}") + ".",
            };
            let (code, label) = (row.code, sentence(row.text));
            format!("  '{code}': {{ label: '{label}', hint: '{hint}', whose: '{whose}' }},\n")
        });
        let made = format!(
            "// Kinds of failure of a connection. Made from their table, src/api/error_class.rs: make bless writes it.\n\n\
             /** @type {{Record<string, {{label: string, hint: string, whose: string}}>}} */\n\
             export const FAILURES = {{\n{}}};\n",
            rows.collect::<String>()
        );
        crate::api::openapi::compare(PAGE, &made);
    }

    #[test]
    fn codes_are_unique_and_known() {
        for row in CLASSES {
            let named = ErrorClass::named(row.code).map(|row| row.class);
            assert_eq!(named, Some(row.class));
            assert_eq!(row.class.code(), row.code);
        }
        assert!(ErrorClass::named("of another version").is_none());
    }
}
