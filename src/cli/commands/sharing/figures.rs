//! Counts and sizes in few words.

/// `1 visitor`, `2 visitors`.
pub(super) fn counted(number: u64, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {what}{plural}")
}

/// `999 B`, `1.2 KiB`, `30 MiB`.
pub(in crate::cli::commands) fn size(bytes: u64) -> String {
    let mut unit = 1;
    for name in ["B", "KiB", "MiB", "GiB"] {
        if bytes < unit * 1024 {
            return scaled(bytes, unit, name);
        }
        unit *= 1024;
    }
    scaled(bytes, unit, "TiB")
}

fn scaled(bytes: u64, unit: u64, name: &str) -> String {
    let whole = bytes / unit;
    match (bytes % unit) * 10 / unit {
        tenths if unit > 1 && whole < 10 => format!("{whole}.{tenths} {name}"),
        _ => format!("{whole} {name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_short() {
        for (bytes, shown) in [
            (0, "0 B"),
            (999, "999 B"),
            (1_024, "1.0 KiB"),
            (10_239, "9.9 KiB"),
            (31_000, "30 KiB"),
            (1_310_720, "1.2 MiB"),
            (8_100_000_000_000, "7.3 TiB"),
        ] {
            assert_eq!(size(bytes), shown);
        }
        assert_eq!(
            counted(1, "visitor") + &counted(2, "visitor"),
            "1 visitor2 visitors"
        );
    }
}
