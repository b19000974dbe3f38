//! The table of an application's fields. Everything that lists fields comes from it: the members of [`AppConfig`], the
//! reader of requests, answers, pending changes, flags and their help, `app show`, export and import, the schemas of
//! the API and the form's limits. A new field is a row here and its use.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use zeroize::Zeroizing;

use super::protocol::Protocol;
use crate::gateway::VISITORS_HOST;
use crate::limits::{APP_NAME, MAX_STREAMS};

/// Characters of a user's or database's name: the longest that a server takes.
const TEXT_CAP: usize = 255;
/// Characters of a group's name: it is a heading.
const GROUP_CAP: usize = 60;
/// Characters of a note: it stands on a card.
const NOTE_CAP: usize = 1000;

/// Fields that only the server writes, besides `has_` and the name of each secret; a client may send them back.
pub const OWN: [&str; 8] = [
    "id",
    "created_at",
    "updated_at",
    "last_connected_at",
    "temporary",
    "conn_status",
    "health",
    "connection",
];

/// Makes members, lists and matches of the rows `name: type [how it is stored] = field`, in the order of the help.
macro_rules! fields {
    ($($(#[doc = $about:literal])+ $name:ident: $type:ty [$($stored:tt)*] = $field:expr;)*) => {
        /// An application of the user.
        #[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
        pub struct AppConfig {
            /// 16 hexadecimal digits, made here.
            pub id: String,
            $(
                $(#[doc = $about])+
                #[serde($($stored)*)]
                pub $name: $type,
            )*
            /// URL of the server that it was last connected through, and stays with if it names none.
            #[serde(default)]
            pub used_server: Option<String>,
            /// Code of an invisible application, made when it is first needed; stable until it is renewed.
            #[serde(default)]
            pub code: Option<Zeroizing<String>>,
            /// End time that has passed; it stays expired until it gets another one.
            #[serde(default, rename = "lapsed")]
            pub expired: Option<String>,
            /// Site name used if its name is not usable; chosen when it was added.
            #[serde(default)]
            pub site_words: Option<String>,
            /// Number of times that all visitors were signed out: a new number ends all sign-ins and open streams.
            #[serde(default)]
            pub signed_out: u64,
            /// Creation time; RFC 3339 in UTC, like the next two.
            #[serde(default)]
            pub created_at: String,
            /// Time of the user's last change.
            #[serde(default)]
            pub updated_at: String,
            /// Time of the last connect.
            #[serde(default)]
            pub last_connected_at: Option<String>,
            /// True if it lasts as long as the command that shares it; it is never stored.
            #[serde(skip)]
            pub temporary: bool,
            /// True if its site must have the preferred name: set by a connect, never stored.
            #[serde(skip)]
            pub site_name_required: bool,
        }

        /// The fields that a user sets.
        pub const FIELDS: &[Field] = &[$($field.named(stringify!($name))),*];

        /// The description of each.
        #[cfg(test)]
        pub(super) const ABOUT: &[&str] = &[$(concat!($($about),+)),*];

        impl AppConfig {
            /// The value of a field.
            pub(super) fn value(&self, field: &Field) -> Value {
                match field.name {
                    $(stringify!($name) => json!(self.$name),)*
                    _ => Value::Null,
                }
            }

            /// Takes over the value of a field.
            pub(super) fn take(&mut self, field: &Field, from: &Self) {
                match field.name {
                    $(stringify!($name) => self.$name.clone_from(&from.$name),)*
                    _ => {}
                }
            }

            /// True if a field has another value in `other`.
            pub(super) fn differs(&self, field: &Field, other: &Self) -> bool {
                match field.name {
                    $(stringify!($name) => self.$name != other.$name,)*
                    _ => false,
                }
            }
        }
    };
}

fields! {
    /// Name given by the user; by default protocol and address
    name: String [] = Field::new(Kind::Text(APP_NAME)).effect(Effect::Combined)
        .flag("name", "NAME", "name of the share, also used for its address");
    /// Protocol of the application
    protocol: Protocol [] = Field::new(Kind::Protocol).operand("PROTOCOL");
    /// IP address without brackets, or host name
    ip: String [] = Field::new(Kind::Host).operand("ADDRESS")
        .edited("address", "ADDRESS", "target: PORT, HOST, HOST:PORT or a URL");
    /// Port, never 0
    port: u16 [] = Field::new(Kind::Port).operand("PORT");
    /// URL of its own server; without one, of the server that it was connected through. Null if the default or the
    /// command line's server applies
    server: Option<String> [default] = Field::new(Kind::Server).effect(Effect::Combined)
        .flag("server", "URL", "relay (default: the one that 'postern start' uses)")
        .beside("enroll-token", "TOKEN", "enrolment token, which registers this machine at the relay. Other users can see \
            it in the process list; to hide it, use 'postern server add' with POSTERN_ENROLL_TOKEN");
    /// Port of the tunnel server, if it is not the one that the remote server names
    tunnel_port: Option<u16> [default] = Field::new(Kind::Port).flag("tunnel-port", "PORT", "port of the tunnel server");
    /// Preferred first label of the site's name
    site_name: Option<String> [default] = Field::new(Kind::SiteName).of(Uses::Browsers)
        .flag("site-name", "NAME", "preferred first part of the address, such as shop in https://shop.relay.example/");
    /// Name on the sign-in page and in the relay's list
    display_name: Option<String> [default] = Field::new(Kind::Text(APP_NAME)).effect(Effect::Combined)
        .flag("display-name", "NAME", "name on the sign-in page and in the relay's list");
    /// True if visitors need the code
    invisible: bool [default] = Field::new(Kind::Flag).of(Uses::Browsers)
        .switch("invisible", true, "visitors need a code (default for databases)")
        .switch("visible", false, "visitors need no code (default except for databases)");
    /// End time, RFC 3339 in UTC
    expires: Option<String> [default] = Field::new(Kind::Time).if_changed().effect(Effect::AtOnce).label("until")
        .beside("for", "TIME", "share for this long, counted from now: 30s, 90m, 1h30m, 8h or 2d")
        .flag("until", "TIME", "share until this time: 18:00 (local time) or 2030-01-31T18:00:00Z")
        .omitted("for no end time");
    /// Networks that visitors may come from; empty allows everybody
    allow: Vec<String> [default] = Field::new(Kind::Networks).if_changed().effect(Effect::AtOnce).label("allowed from")
        .flag("allow", "CIDR", "limit access to this network, e.g. 192.0.2.0/24 (repeatable)")
        .omitted("to allow every network");
    /// Host header for the application: visitor, target, or a name with optional scheme and port
    host_header: String [default = "visitors_host"] = Field::new(Kind::HostHeader).if_changed().of(Uses::Sites).label("host")
        .flag("host", "NAME", "Host header sent to the application: visitor (the public address, default), target (its own \
            address) or a name; https://NAME if the application expects https")
        .omitted("to send the public address");
    /// Path that the links of a web site open
    path: Option<String> [default] = Field::new(Kind::Path).if_changed().of(Uses::Sites).label("opens at");
    /// Maximum number of simultaneous visitor streams
    max_streams: Option<u32> [default] = Field::new(Kind::Number(MAX_STREAMS)).if_changed().label("max streams")
        .flag("max-streams", "N", "maximum number of simultaneous visitor connections (0: no limit)");
    /// Heading of its group
    group: Option<String> [default] = Field::new(Kind::Text(GROUP_CAP)).if_changed().effect(Effect::Note).label("group")
        .flag("group", "NAME", "heading on the page");
    /// Note for the user, of one or more lines
    note: Option<String> [default] = Field::new(Kind::Paragraph(NOTE_CAP)).if_changed().effect(Effect::Note).label("note")
        .flag("note", "TEXT", "note on the application's card, of one or more lines; visitors do not see it");
    /// True if an audit log is written
    audit: bool [default] = Field::new(Kind::Flag).if_changed().of(Uses::Browsers).label("audit")
        .switch("audit", true, "write an audit log of all requests (for databases: statements)")
        .off("no-audit", "stop the audit log");
    /// User name of the application, for the user's reference
    username: Option<String> [default] = Field::new(Kind::Text(TEXT_CAP)).effect(Effect::Note).of(Uses::Logins)
        .flag("app-username", "NAME", "user name stored with the application");
    /// Password of that user
    auth_pass: Option<Zeroizing<String>> [default] = Field::new(Kind::Secret).effect(Effect::Note).of(Uses::Logins)
        .flag("app-pass", "PASSWORD", "password of that user. Other users can see it in the process list");
    /// Database user
    db_user: Option<String> [default] = Field::new(Kind::Text(TEXT_CAP)).of(Uses::Databases).label("db user")
        .flag("db-user", "NAME", "database user (default root)");
    /// Password of the database user
    db_pass: Option<Zeroizing<String>> [default] = Field::new(Kind::Secret).of(Uses::Databases)
        .beside("db-pass", "PASSWORD", "database password. Other users can see it in the process list; set POSTERN_DB_PASS \
            to hide it");
    /// Initial database
    db_name: Option<String> [default] = Field::new(Kind::Text(TEXT_CAP)).of(Uses::Databases).label("database")
        .flag("db-name", "NAME", "initial database");
    /// True if the web client refuses every statement that could write
    db_readonly: bool [default = "yes"] = Field::new(Kind::Flag).of(Uses::Databases)
        .switch("readonly", true, "refuse every statement that could write (default for databases)")
        .switch("readwrite", false, "allow statements that write");
    /// Tables and columns that the database guest may read
    guest: Vec<String> [default] = Field::new(Kind::Grants).if_changed().of(Uses::Databases).label("guest reads")
        .flag("guest", "GRANT", "create a read-only database account for visitors that is limited to these tables: \
            'shop.*', 'shop.customers' or 'shop.customers(id,name)' (repeatable). 'shop.*' means all tables and views that \
            exist when it connects; a view shows whatever its definer may read")
        .omitted("to let visitors read everything");
    /// True if the statement log contains SQL texts
    record_sql: bool [default] = Field::new(Kind::Flag).if_changed().of(Uses::Databases).label("record sql")
        .switch("record-sql", true, "include the texts of SQL statements in logs (they may contain data)")
        .off("no-record-sql", "stop recording SQL texts");
    /// True if it is connected when the program starts
    autoconnect: bool [default] = Field::new(Kind::Flag).effect(Effect::Note).label("autoconnect")
        .switch("autoconnect", true, "connect whenever 'postern start' starts")
        .off("no-autoconnect", "do not connect when 'postern start' starts");
}

fn yes() -> bool {
    true
}

fn visitors_host() -> String {
    VISITORS_HOST.to_owned()
}

/// The field of this name.
pub fn field(name: &str) -> Option<&'static Field> {
    FIELDS.iter().find(|field| field.name == name)
}

/// True if only the server writes a field of this name.
pub fn is_own(name: &str) -> bool {
    let secret = name.strip_prefix("has_").and_then(field);
    OWN.contains(&name) || secret.is_some_and(|field| field.kind == Kind::Secret)
}

type Text = &'static str;

/// A field that the user sets.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// Name in JSON, and of the member of `AppConfig`.
    pub name: Text,
    /// Values that it takes.
    pub kind: Kind,
    /// True if the page's form sends it only where it has changed: a PUT without it keeps it.
    pub if_changed: bool,
    /// Time at which a change reaches a connected application.
    pub effect: Effect,
    /// Protocols that it is for.
    pub uses: Uses,
    /// Operand of the command line that sets it; empty for none.
    pub operand: Text,
    /// Flags of `app add` and `app edit` that belong to it.
    pub flags: [Option<FieldFlag>; 2],
    /// Effect of omitting its flag, if an empty value of it would protect less than intended.
    pub omitted: Text,
    /// Label in `app show`; empty if other lines show it.
    pub label: Text,
}

/// Values of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Name of a protocol.
    Protocol,
    /// IP address or host name.
    Host,
    /// Port, never 0.
    Port,
    /// Text on one line, of so many characters at most.
    Text(usize),
    /// Text with line breaks, of so many characters at most.
    Paragraph(usize),
    /// True or false.
    Flag,
    /// URL of a remote server.
    Server,
    /// First label of a site's name.
    SiteName,
    /// Write-only text.
    Secret,
    /// `Host` header for the application.
    HostHeader,
    /// List of networks.
    Networks,
    /// Time, RFC 3339.
    Time,
    /// Path of a page.
    Path,
    /// Whole number from 1 to this one.
    Number(u32),
    /// List of grants for a database guest.
    Grants,
}

/// Time at which a change reaches a connected application.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// At once.
    AtOnce,
    /// At the next connect.
    NextConnect,
    /// At the next connect, together with another field ([`AppConfig::differs_in_force`](super::app::AppConfig)).
    Combined,
    /// Never: only the user, or the start of the program, reads it.
    Note,
}

/// Protocols that a field is for. The form shows it only for these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Uses {
    /// All.
    All,
    /// Databases.
    Databases,
    /// Web sites.
    Sites,
    /// Everything that visitors open in a browser.
    Browsers,
    /// Everything that has a sign-in of its own.
    Logins,
}

/// A flag of the command line that belongs to a field.
#[derive(Debug, Clone, Copy)]
pub struct FieldFlag {
    /// Name after two hyphens.
    pub long: Text,
    /// Placeholder of the value in the help; empty for a switch.
    pub value: Text,
    /// Help text.
    pub help: Text,
    /// Effect on the field.
    pub sets: Sets,
    /// True if only `app edit` has it.
    pub is_for_edit: bool,
}

/// Effect of a flag on its field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sets {
    /// The value of the flag.
    Value,
    /// True or false.
    To(bool),
    /// None by itself: its command reads it.
    Nothing,
}

impl Field {
    /// A field of this kind, with an effect at the next connect.
    pub(super) const fn new(kind: Kind) -> Self {
        Self {
            name: "",
            kind,
            if_changed: false,
            effect: Effect::NextConnect,
            uses: Uses::All,
            operand: "",
            flags: [None; 2],
            omitted: "",
            label: "",
        }
    }

    /// Sets the name.
    pub(super) const fn named(mut self, name: Text) -> Self {
        self.name = name;
        self
    }

    /// The form sends it only where it has changed.
    pub(super) const fn if_changed(mut self) -> Self {
        self.if_changed = true;
        self
    }

    /// Sets when a change reaches a connected application.
    pub(super) const fn effect(mut self, effect: Effect) -> Self {
        self.effect = effect;
        self
    }

    /// Only these protocols use it.
    pub(super) const fn of(mut self, uses: Uses) -> Self {
        self.uses = uses;
        self
    }

    /// An operand sets it.
    pub(super) const fn operand(mut self, operand: Text) -> Self {
        self.operand = operand;
        self
    }

    /// Sets the label in `app show`.
    pub(super) const fn label(mut self, label: Text) -> Self {
        self.label = label;
        self
    }

    /// An empty flag is refused, because omitting it does this.
    pub(super) const fn omitted(mut self, omitted: Text) -> Self {
        self.omitted = omitted;
        self
    }

    /// A flag sets its value.
    pub(super) const fn flag(self, long: Text, value: Text, help: Text) -> Self {
        self.with(long, value, help, Sets::Value, false)
    }

    /// A switch sets it to this.
    pub(super) const fn switch(self, long: Text, to: bool, help: Text) -> Self {
        self.with(long, "", help, Sets::To(to), false)
    }

    /// A switch of `app edit` sets it to false.
    pub(super) const fn off(self, long: Text, help: Text) -> Self {
        self.with(long, "", help, Sets::To(false), true)
    }

    /// A flag that its command reads.
    pub(super) const fn beside(self, long: Text, value: Text, help: Text) -> Self {
        self.with(long, value, help, Sets::Nothing, false)
    }

    /// A flag that `app edit` reads.
    pub(super) const fn edited(self, long: Text, value: Text, help: Text) -> Self {
        self.with(long, value, help, Sets::Nothing, true)
    }

    const fn with(
        mut self,
        long: Text,
        value: Text,
        help: Text,
        sets: Sets,
        is_for_edit: bool,
    ) -> Self {
        let flag = Some(FieldFlag {
            long,
            value,
            help,
            sets,
            is_for_edit,
        });
        self.flags = match self.flags {
            [None, _] => [flag, None],
            [first, _] => [first, flag],
        };
        self
    }

    /// Returns its flags.
    pub fn all_flags(&self) -> impl Iterator<Item = &FieldFlag> {
        self.flags.iter().flatten()
    }

    /// True if it is a list.
    pub const fn is_list(&self) -> bool {
        matches!(self.kind, Kind::Networks | Kind::Grants)
    }

    /// Name on the command line.
    pub fn on_the_command_line(&self) -> String {
        let mut flags = self.all_flags();
        match flags.find(|flag| flag.sets != Sets::Nothing) {
            Some(flag) => format!("--{}", flag.long),
            None if self.operand.is_empty() => format!("--{}", self.name.replace('_', "-")),
            None => self.operand.to_owned(),
        }
    }
}

#[cfg(test)]
#[path = "fields_tests.rs"]
pub(in crate::manager) mod tests;
