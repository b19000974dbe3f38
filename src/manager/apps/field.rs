//! One row of the table of an application's fields ([`FIELDS`](super::fields::FIELDS)).

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
    /// When a change reaches a connected application.
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

/// When a change reaches a connected application.
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

    /// Its flags.
    pub fn all_flags(&self) -> impl Iterator<Item = &FieldFlag> {
        self.flags.iter().flatten()
    }

    /// True if it is a list.
    pub const fn is_list(&self) -> bool {
        matches!(self.kind, Kind::Networks | Kind::Grants)
    }

    /// Name of it on the command line.
    pub fn on_the_command_line(&self) -> String {
        let mut flags = self.all_flags();
        match flags.find(|flag| flag.sets != Sets::Nothing) {
            Some(flag) => format!("--{}", flag.long),
            None if self.operand.is_empty() => format!("--{}", self.name.replace('_', "-")),
            None => self.operand.to_owned(),
        }
    }
}
