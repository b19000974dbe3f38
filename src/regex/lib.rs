//! The part of the crate `regex` that the MySQL driver uses, on `regex-lite`.

/// Expressions over bytes.
pub mod bytes {
    use std::fmt;

    pub use regex_lite::Error;

    /// An expression, applied to the longest beginning of its input that is UTF-8; the driver's expressions match
    /// ASCII.
    #[derive(Clone)]
    pub struct Regex(regex_lite::Regex);

    /// Text matched by the groups of an expression.
    pub struct Captures<'a>(regex_lite::Captures<'a>);

    /// Text matched by one group.
    pub struct Match<'a>(regex_lite::Match<'a>);

    impl Regex {
        /// Compiles an expression.
        pub fn new(expression: &str) -> Result<Self, Error> {
            regex_lite::Regex::new(expression).map(Self)
        }

        /// True if it matches anywhere.
        pub fn is_match(&self, input: &[u8]) -> bool {
            self.0.is_match(text(input))
        }

        /// The groups of its first match.
        pub fn captures<'a>(&self, input: &'a [u8]) -> Option<Captures<'a>> {
            self.0.captures(text(input)).map(Captures)
        }
    }

    impl fmt::Debug for Regex {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.0.as_str())
        }
    }

    impl<'a> Captures<'a> {
        /// The group of this number; 0 is the whole match.
        pub fn get(&self, group: usize) -> Option<Match<'a>> {
            self.0.get(group).map(Match)
        }
    }

    impl<'a> Match<'a> {
        /// Its bytes.
        pub fn as_bytes(&self) -> &'a [u8] {
            self.0.as_str().as_bytes()
        }
    }

    /// Returns the longest beginning of the input that is UTF-8.
    fn text(input: &[u8]) -> &str {
        match std::str::from_utf8(input) {
            Ok(text) => text,
            Err(error) => {
                let (valid, _) = input.split_at(error.valid_up_to());
                std::str::from_utf8(valid).unwrap_or_default()
            }
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn groups_are_found_before_what_is_no_utf8() {
            let version = Regex::new(r"^(\d{1,2})\.(\d{1,2})\.(\d{1,3})(.*)").unwrap();
            let groups = version.captures(b"10.11.19-x\xff9.9.9").unwrap();
            let group = |number| groups.get(number).map(|found| found.as_bytes());
            assert_eq!(
                (group(1), group(3), group(4)),
                (Some(&b"10"[..]), Some(&b"19"[..]), Some(&b"-x"[..]))
            );
            assert!(group(5).is_none() && version.captures(b"\xff10.1.1").is_none());
            assert!(version.is_match(b"9.7.4") && !version.is_match(b"nine"));
        }
    }
}
