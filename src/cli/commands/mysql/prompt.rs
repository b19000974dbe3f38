//! Questions for values that the command line does not give.
//!
//! They are asked on stderr, the password on the terminal itself without echo. If stdin is not a terminal, its lines
//! are the answers; its end, or a missing line, means the default.

use crate::net::poll::poll_until;
use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::event::PollFlags;
use zeroize::Zeroizing;

use crate::cli::failure::{Failure, say};

/// Database user if none is given.
pub(super) const DEFAULT_USER: &str = "root";
/// Time for a line on a stdin that is not a terminal: a pipe that nobody writes to must not delay the start forever.
const LINE_TIMEOUT: Duration = Duration::from_secs(10);
/// The longest answer, in bytes; the longest password a server takes is far shorter.
const LINE_CAP: usize = 4096;

/// Values from the command line.
#[derive(Default)]
pub(crate) struct GivenCredentials {
    pub(crate) user: Option<String>,
    pub(crate) password: Option<Zeroizing<String>>,
    pub(crate) database: Option<String>,
    /// True if a flag or a part of the URL gave credentials: then only a missing password is asked for, and only on a
    /// terminal.
    pub(crate) explicit: bool,
}

/// Account and database of a connection.
pub(crate) struct Credentials {
    pub(crate) user: String,
    pub(crate) password: Zeroizing<String>,
    pub(crate) database: Option<String>,
}

/// Source of answers. `None` is the end of input.
pub(crate) trait Prompt {
    fn is_terminal(&self) -> bool;
    fn line(&mut self, question: &str) -> io::Result<Option<Zeroizing<String>>>;
    fn hidden(&mut self, question: &str) -> io::Result<Option<Zeroizing<String>>>;
}

/// Asks for missing values.
pub(crate) fn complete(
    given: GivenCredentials,
    answers: &mut dyn Prompt,
) -> Result<Credentials, Failure> {
    let user = match given.user {
        Some(user) => user,
        None if given.explicit => DEFAULT_USER.to_owned(),
        None => ask(answers, "Username [root]: ")?.unwrap_or(DEFAULT_USER.to_owned()),
    };
    let password = match given.password {
        Some(password) => password,
        None if given.explicit && !answers.is_terminal() => Zeroizing::default(),
        None => ask_password(answers)?,
    };
    let database = match given.database {
        None if !given.explicit => ask(answers, "Database (optional): ")?,
        given => given,
    };
    Ok(Credentials {
        user,
        password,
        database,
    })
}

/// Returns the trimmed answer; `None` if it is empty.
fn ask(answers: &mut dyn Prompt, question: &str) -> Result<Option<String>, Failure> {
    let line = answers.line(question).map_err(|error| unanswered(&error))?;
    let answer = line.as_ref().map(|line| line.trim().to_owned());
    Ok(answer.filter(|answer| !answer.is_empty()))
}

fn ask_password(answers: &mut dyn Prompt) -> Result<Zeroizing<String>, Failure> {
    let answer = if answers.is_terminal() {
        answers.hidden("Password: ")
    } else {
        answers.line("Password: ")
    };
    let password = answer.map_err(|error| unanswered(&error))?;
    Ok(password.unwrap_or_default())
}

fn unanswered(error: &io::Error) -> Failure {
    Failure::operation(format!("cannot read the credentials: {error}"))
        .hint("give them as --db-user and --db-name, and the password in POSTERN_DB_PASS")
}

/// The process's own stdin.
pub(crate) struct Stdin {
    input: File,
    is_terminal: bool,
    /// Input read beyond the last answer.
    ahead: Zeroizing<Vec<u8>>,
    /// True if no more input is expected.
    ended: bool,
}

impl Stdin {
    /// Reads from a descriptor of its own, unbuffered, so that a wait sees what has not been read.
    pub(crate) fn open() -> io::Result<Self> {
        let stdin = io::stdin();
        Ok(Self {
            is_terminal: stdin.is_terminal(),
            input: File::from(stdin.as_fd().try_clone_to_owned()?),
            // Full capacity from the start: growing would leave copies behind.
            ahead: Zeroizing::new(Vec::with_capacity(2 * LINE_CAP)),
            ended: false,
        })
    }

    /// The next line without its end.
    fn next_line(&mut self) -> io::Result<Option<Zeroizing<String>>> {
        let deadline = (!self.is_terminal).then(|| Instant::now() + LINE_TIMEOUT);
        loop {
            if let Some(end) = self.ahead.iter().position(|&byte| byte == b'\n') {
                return self.take(end + 1).map(Some);
            }
            if self.ahead.len() > LINE_CAP {
                return Err(io::Error::other("a line is longer than 4096 bytes"));
            }
            if self.ended || !self.fill(deadline)? {
                let rest = self.ahead.len();
                return (rest > 0).then(|| self.take(rest)).transpose();
            }
        }
    }

    /// Reads once; false at the end of input and when the deadline has passed.
    fn fill(&mut self, deadline: Option<Instant>) -> io::Result<bool> {
        if let Some(deadline) = deadline
            && !is_readable(&self.input, deadline)?
        {
            log::warn!("no answer on standard input within {LINE_TIMEOUT:?}; using the defaults");
            self.ended = true;
            return Ok(false);
        }
        let mut block = Zeroizing::new([0; LINE_CAP]);
        let count = loop {
            match self.input.read(block.as_mut()) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other?,
            }
        };
        let read = block.get(..count);
        self.ahead
            .extend_from_slice(read.expect("no more is read than there is room for"));
        // A terminal can go on after Ctrl-D, other inputs cannot.
        self.ended = count == 0 && !self.is_terminal;
        Ok(count > 0)
    }

    /// Takes the first `count` bytes, as text without the line's end.
    fn take(&mut self, count: usize) -> io::Result<Zeroizing<String>> {
        let line: Zeroizing<Vec<u8>> = Zeroizing::new(self.ahead.drain(..count).collect());
        let line = line.strip_suffix(b"\n").unwrap_or(&line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let text = str::from_utf8(line).map_err(|_| io::Error::other("a line is not UTF-8"))?;
        Ok(Zeroizing::new(text.to_owned()))
    }
}

/// Waits until a read would not block; false when the deadline has passed.
fn is_readable(input: &File, deadline: Instant) -> io::Result<bool> {
    let [ready] = poll_until([(input, PollFlags::IN)], Some(deadline))?;
    Ok(!ready.is_empty())
}

impl Prompt for Stdin {
    fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    fn line(&mut self, question: &str) -> io::Result<Option<Zeroizing<String>>> {
        if self.is_terminal {
            say(question);
        }
        let line = self.next_line()?;
        if line.is_none() && self.is_terminal {
            // Ctrl-D leaves the cursor behind the question.
            say("\n");
        }
        Ok(line)
    }

    fn hidden(&mut self, question: &str) -> io::Result<Option<Zeroizing<String>>> {
        match rpassword::prompt_password(question) {
            Ok(password) => Ok(Some(Zeroizing::new(password))),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                say("\n");
                Ok(None)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                crate::cli::serve::die_of_interrupt()
            }
            Err(error) => Err(error),
        }
    }
}

/// True if there is a terminal to ask on.
pub(crate) fn can_ask() -> bool {
    io::stderr().is_terminal() && io::stdin().is_terminal()
}

/// Asks twice for a new secret, on the terminal itself and without echo.
pub(crate) fn new_secret(question: &str) -> Result<Zeroizing<String>, Failure> {
    let secret = asked(question)?;
    if secret.is_empty() {
        return Err(Failure::operation("it must not be empty"));
    }
    if asked("Repeat: ")? != secret {
        return Err(Failure::operation("the two entries differ"));
    }
    Ok(secret)
}

/// Asks on the terminal itself, without echo.
pub(crate) fn asked(question: &str) -> Result<Zeroizing<String>, Failure> {
    let answer = rpassword::prompt_password(question);
    let answer = answer.map_err(|error| Failure::operation(format!("cannot ask: {error}")))?;
    Ok(Zeroizing::new(answer))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct ScriptedAnswers {
        is_terminal: bool,
        answers: Vec<&'static str>,
        asked: Vec<String>,
    }

    impl ScriptedAnswers {
        fn answer(&mut self, kind: &str, question: &str) -> Option<Zeroizing<String>> {
            self.asked.push(format!("{kind} {question}"));
            (!self.answers.is_empty()).then(|| Zeroizing::new(self.answers.remove(0).to_owned()))
        }
    }

    impl Prompt for ScriptedAnswers {
        fn is_terminal(&self) -> bool {
            self.is_terminal
        }
        fn line(&mut self, question: &str) -> io::Result<Option<Zeroizing<String>>> {
            Ok(self.answer("line", question))
        }
        fn hidden(&mut self, question: &str) -> io::Result<Option<Zeroizing<String>>> {
            Ok(self.answer("hidden", question))
        }
    }

    fn run(
        given: GivenCredentials,
        is_terminal: bool,
        answers: &[&'static str],
    ) -> (String, Vec<String>) {
        let mut script = ScriptedAnswers {
            is_terminal,
            answers: answers.to_vec(),
            asked: Vec::new(),
        };
        let found = complete(given, &mut script).unwrap();
        let text = format!(
            "{} {:?} {:?}",
            found.user,
            found.password.as_str(),
            found.database.as_deref().unwrap_or("-")
        );
        (text, script.asked)
    }

    fn given(
        user: Option<&str>,
        password: Option<&str>,
        database: Option<&str>,
    ) -> GivenCredentials {
        GivenCredentials {
            explicit: user.or(password).or(database).is_some(),
            user: user.map(str::to_owned),
            password: password.map(|text| Zeroizing::new(text.to_owned())),
            database: database.map(str::to_owned),
        }
    }

    #[test]
    fn without_flags_all_three_are_asked() {
        let (found, asked) = run(given(None, None, None), true, &[" bob ", " p w ", "shop"]);
        assert_eq!(found, r#"bob " p w " "shop""#);
        assert_eq!(
            asked,
            [
                "line Username [root]: ",
                "hidden Password: ",
                "line Database (optional): "
            ]
        );
        let (found, asked) = run(given(None, None, None), false, &["", "pw"]);
        assert_eq!(found, r#"root "pw" "-""#);
        assert_eq!(asked[1], "line Password: ");
        assert_eq!(run(given(None, None, None), true, &[]).0, r#"root "" "-""#);
    }

    #[test]
    fn with_a_flag_only_a_terminal_is_asked_for_the_password() {
        let (found, asked) = run(given(Some("u"), None, None), true, &["pw"]);
        assert_eq!(
            (found.as_str(), asked),
            (r#"u "pw" "-""#, vec!["hidden Password: ".into()])
        );
        let (found, asked) = run(given(Some("u"), None, None), false, &["pw"]);
        assert_eq!((found.as_str(), asked.len()), (r#"u "" "-""#, 0));
        let (found, asked) = run(given(None, Some("x"), None), true, &[]);
        assert_eq!((found.as_str(), asked.len()), (r#"root "x" "-""#, 0));
        let (found, asked) = run(given(None, None, Some("d")), true, &["pw"]);
        assert_eq!((found.as_str(), asked.len()), (r#"root "pw" "d""#, 1));
    }

    #[test]
    fn a_password_from_the_environment_is_not_asked_for() {
        let from_environment = GivenCredentials {
            explicit: false,
            ..given(None, Some("env"), None)
        };
        let (found, asked) = run(from_environment, true, &["bob", "shop"]);
        assert_eq!((found.as_str(), asked.len()), (r#"bob "env" "shop""#, 2));
    }
}
