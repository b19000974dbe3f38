//! The files of a unit: written, and taken away again only where nobody else wrote in them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::cli::failure::Failure;
use crate::store::random::hex;
use crate::store::write_atomic;

/// How the first line begins; the digest of all that follows it ends the line.
const MARK: &str = "# Written by 'postern service install'; a change is yours, and stays: ";

/// The unit, and its file of variables.
pub(super) struct UnitFiles {
    unit: PathBuf,
    environment: PathBuf,
}

impl UnitFiles {
    /// Files of the unit of that name, in the user manager's own directory.
    pub(super) fn of(unit: &str) -> Result<Self, Failure> {
        let set = |name| {
            std::env::var_os(name)
                .filter(|value| !value.is_empty())
                .map(PathBuf::from)
        };
        let config = set("XDG_CONFIG_HOME").filter(|dir| dir.is_absolute());
        let config = config.or_else(|| Some(set("HOME")?.join(".config")));
        let Some(config) = config else {
            return Err(
                Failure::operation("neither XDG_CONFIG_HOME nor HOME is set")
                    .hint("set HOME: units are below ~/.config/systemd/user"),
            );
        };
        let unit = config.join("systemd/user").join(unit);
        let environment = unit.with_extension("env");
        Ok(Self { unit, environment })
    }

    pub(super) fn unit_path(&self) -> &Path {
        &self.unit
    }

    /// The file of variables, as a unit names it.
    pub(super) fn environment_path(&self) -> Result<String, Failure> {
        match self.environment.to_str() {
            Some(path) if !path.chars().any(char::is_control) => Ok(path.to_owned()),
            _ => Err(Failure::operation(
                "the path of ~/.config cannot be used in a unit",
            )),
        }
    }

    pub(super) fn is_installed(&self) -> bool {
        fs::symlink_metadata(&self.unit).is_ok()
    }

    /// Fails where one of them is not as this command has written it.
    pub(super) fn check_ours(&self) -> Result<(), Failure> {
        for path in [&self.unit, &self.environment] {
            match fs::read_to_string(path) {
                Ok(text) if is_ours(&text) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Ok(_) => {
                    let message = format!(
                        "{} was not written by this command, or was changed since",
                        path.display()
                    );
                    return Err(
                        Failure::operation(message).hint("check it, move it away, then try again")
                    );
                }
                Err(error) => return Err(failed("read", path, &error)),
            }
        }
        Ok(())
    }

    /// Writes both; whether the unit is another than before.
    pub(super) fn install(
        &self,
        unit: &str,
        variables: &[(&str, String)],
    ) -> Result<bool, Failure> {
        self.check_ours()?;
        let dir = self.unit.parent().expect("it is below a directory");
        fs::create_dir_all(dir).map_err(|error| failed("create", dir, &error))?;
        if variables.is_empty() {
            self.remove_one(&self.environment)?;
        } else {
            let lines = variables
                .iter()
                .map(|(name, value)| format!("{name}={}\n", quoted(value)));
            write(&self.environment, &marked(&lines.collect::<String>()))?;
        }
        let unit = marked(unit);
        let changed = fs::read_to_string(&self.unit).ok().as_ref() != Some(&unit);
        write(&self.unit, &unit)?;
        Ok(changed)
    }

    /// Removes both.
    pub(super) fn remove(&self) -> Result<(), Failure> {
        self.remove_one(&self.unit)?;
        self.remove_one(&self.environment)
    }

    fn remove_one(&self, path: &Path) -> Result<(), Failure> {
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(failed("remove", path, &error))
            }
            _ => Ok(()),
        }
    }
}

/// With mode 0600.
fn write(path: &Path, text: &str) -> Result<(), Failure> {
    write_atomic(path, text.as_bytes()).map_err(|error| failed("write", path, &error))
}

fn failed(what: &str, path: &Path, error: &io::Error) -> Failure {
    Failure::operation(format!("cannot {what} {}: {error}", path.display()))
}

/// A value in a file of variables, as systemd.exec(5) reads it.
fn quoted(value: &str) -> String {
    let mut text = String::from("\"");
    for character in value.chars() {
        if matches!(character, '"' | '\\' | '`' | '$') {
            text.push('\\');
        }
        text.push(character);
    }
    text + "\""
}

fn marked(text: &str) -> String {
    format!("{MARK}{}\n{text}", digest(text))
}

fn is_ours(text: &str) -> bool {
    let first = text
        .split_once('\n')
        .and_then(|(first, rest)| Some((first.strip_prefix(MARK)?, rest)));
    first.is_some_and(|(expected, rest)| expected == digest(rest))
}

fn digest(text: &str) -> String {
    let mut digits = hex(&Sha256::digest(text));
    digits.truncate(16);
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_file_is_known() {
        let text = marked("[Unit]\nx=1\n");
        assert!(is_ours(&text));
        for other in [
            text.replace("x=1", "x=2"),
            text.clone() + "#\n",
            text.replacen('#', ";", 1),
            String::new(),
        ] {
            assert!(!is_ours(&other), "{other}");
        }
    }

    #[test]
    fn values_are_whole() {
        assert_eq!(quoted("a b$c\"\\`"), "\"a b\\$c\\\"\\\\\\`\"");
    }
}
