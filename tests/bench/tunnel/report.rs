//! The table.

/// Of a row's figures.
#[derive(Clone, Copy)]
pub(crate) enum Unit {
    MegabytesPerSecond,
    PerSecond,
    Micros,
    Seconds,
    Mebibytes,
}

impl Unit {
    fn name(self) -> &'static str {
        match self {
            Self::MegabytesPerSecond => "MB/s",
            Self::PerSecond => "/s",
            Self::Micros => "µs",
            Self::Seconds => "s",
            Self::Mebibytes => "MiB",
        }
    }

    fn show(self, value: f64) -> String {
        match self {
            Self::Seconds => format!("{value:.2}"),
            Self::Mebibytes => format!("{:.1}", value / 1048576.0),
            _ => format!("{value:.0}"),
        }
    }
}

struct Row {
    name: String,
    unit: Unit,
    /// One list for each column.
    values: Vec<Vec<f64>>,
}

pub(crate) struct Report {
    columns: Vec<&'static str>,
    rows: Vec<Row>,
}

/// True if a row was requested.
pub(crate) fn is_wanted(row: &str) -> bool {
    match std::env::var("BENCH_ROWS") {
        Ok(rows) => rows
            .split(',')
            .any(|part| row.contains(part) || part.contains(row)),
        Err(_) => true,
    }
}

impl Report {
    pub(crate) fn new(columns: Vec<&'static str>) -> Self {
        Self {
            columns,
            rows: Vec::new(),
        }
    }

    pub(crate) fn add(&mut self, name: &str, unit: Unit, column: &str, value: f64) {
        let at = self.columns.iter().position(|of| *of == column).unwrap();
        let row = match self.rows.iter().position(|row| row.name == name) {
            Some(row) => &mut self.rows[row],
            None => {
                self.rows.push(Row {
                    name: name.to_owned(),
                    unit,
                    values: vec![Vec::new(); self.columns.len()],
                });
                self.rows.last_mut().unwrap()
            }
        };
        row.values[at].push(value);
    }

    pub(crate) fn print(mut self) {
        print!("| medians | unit |");
        for column in &self.columns {
            print!(" {column} |");
        }
        println!("\n|---|---|{}", "---|".repeat(self.columns.len()));
        for row in &mut self.rows {
            print!("| {} | {} |", row.name, row.unit.name());
            let medians: Vec<_> = row.values.iter_mut().map(|values| median(values)).collect();
            for median in &medians {
                print!(" {} |", shown(row.unit, *median, medians[0]));
            }
            println!();
        }
    }
}

impl Report {
    /// Two columns, each with its least and its greatest figure, and what the second's median is of the first's.
    pub(crate) fn print_pairs(mut self) {
        print!("| medians (least – greatest) | unit |");
        for column in &self.columns {
            print!(" {column} |");
        }
        println!(" ratio |\n|---|---|---|---|---|");
        for row in &mut self.rows {
            print!("| {} | {} |", row.name, row.unit.name());
            let medians: Vec<_> = row
                .values
                .iter_mut()
                .filter_map(|values| median(values))
                .collect();
            for (values, median) in row.values.iter().zip(&medians) {
                let [median, least, greatest] = [*median, values[0], values[values.len() - 1]]
                    .map(|value| row.unit.show(value));
                print!(" {median} ({least} – {greatest}) |");
            }
            println!(" {:.3} |", medians[1] / medians[0]);
        }
    }
}

/// With the part of the first column's.
fn shown(unit: Unit, value: Option<f64>, first: Option<f64>) -> String {
    match (value, first) {
        (None, _) => "–".to_owned(),
        (Some(value), Some(first)) if value != first => {
            format!("{} ({:.2})", unit.show(value), value / first)
        }
        (Some(value), _) => unit.show(value),
    }
}

fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}
