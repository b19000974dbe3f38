//! Mouse and keyboard: real input events at the place where a person would see the element.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::keys::{self, Key};
use super::page::Page;

/// Time in which an element must appear, hold still and be uncovered.
const ELEMENT_PATIENCE: Duration = Duration::from_secs(60);

/// Pause between two looks at an element.
const POLL: Duration = Duration::from_millis(20);

/// Moves of the mouse in one drag; pages that start a drag after some pixels need several.
const DRAG_STEPS: i32 = 8;

/// Finds an element and answers where to click it, or why it cannot be clicked.
const LOCATE: &str = include_str!("locate.js");

impl Page {
    /// Clicks the middle of an element.
    ///
    /// `target` is a CSS selector, or `text=Run` for the innermost element of that text or name, or both:
    /// `#toolbar text=Run`. The element must be visible, enabled, still and not covered by another.
    #[track_caller]
    pub fn click(&self, target: &str) {
        let at = self.locate(target);
        self.click_at(at, "left", 1);
    }

    /// Double-clicks.
    #[track_caller]
    pub fn double_click(&self, target: &str) {
        let at = self.locate(target);
        self.click_at(at, "left", 1);
        self.click_at(at, "left", 2);
    }

    /// Clicks with the right button.
    #[track_caller]
    pub fn right_click(&self, target: &str) {
        let at = self.locate(target);
        self.click_at(at, "right", 1);
    }

    /// Moves the mouse over an element.
    #[track_caller]
    pub fn hover(&self, target: &str) {
        let at = self.locate(target);
        self.mouse("mouseMoved", at, json!({}));
    }

    /// Drags from the middle of an element by so many pixels.
    #[track_caller]
    pub fn drag(&self, target: &str, dx: f64, dy: f64) {
        let (x, y) = self.locate(target);
        let held = json!({"button": "left", "buttons": 1});
        self.mouse("mouseMoved", (x, y), json!({}));
        self.mouse(
            "mousePressed",
            (x, y),
            json!({"button": "left", "buttons": 1, "clickCount": 1}),
        );
        for step in 1..=DRAG_STEPS {
            let part = f64::from(step) / f64::from(DRAG_STEPS);
            self.mouse("mouseMoved", (x + dx * part, y + dy * part), held.clone());
        }
        let released = json!({"button": "left", "clickCount": 1});
        self.mouse("mouseReleased", (x + dx, y + dy), released);
    }

    /// Turns the wheel over an element.
    #[track_caller]
    pub fn wheel(&self, target: &str, dx: f64, dy: f64) {
        let at = self.locate(target);
        self.mouse("mouseWheel", at, json!({"deltaX": dx, "deltaY": dy}));
    }

    /// Presses a key or a chord: `Enter`, `Ctrl+Enter`, `Shift+Tab`, `?`.
    #[track_caller]
    pub fn press(&self, chord: &str) {
        let key = keys::parse(chord).unwrap_or_else(|| panic!("no such key: {chord}"));
        self.stroke(&key);
    }

    /// Types into whatever has the focus, key by key.
    #[track_caller]
    pub fn type_text(&self, text: &str) {
        for c in text.chars() {
            self.stroke(&keys::typing(c));
        }
    }

    /// As [`Page::type_text`] with the pause that a person makes after each key.
    #[track_caller]
    pub fn type_at_pace(&self, text: &str, pause: Duration) {
        for c in text.chars() {
            self.stroke(&keys::typing(c));
            std::thread::sleep(pause);
        }
    }

    /// Puts text in at once, as an input method does.
    #[track_caller]
    pub fn insert_text(&self, text: &str) {
        self.call("Input.insertText", json!({"text": text}));
    }

    /// Clicks a field, empties it and types.
    #[track_caller]
    pub fn fill(&self, target: &str, text: &str) {
        self.click(target);
        self.press("Ctrl+a");
        self.press("Delete");
        self.insert_text(text);
    }

    /// Point at which to click an element, once that can be done.
    #[track_caller]
    pub fn locate(&self, target: &str) -> (f64, f64) {
        let find = format!("({LOCATE})({})", json!(target));
        let deadline = Instant::now() + ELEMENT_PATIENCE;
        let mut before = None;
        loop {
            let found = self.try_eval(&find).unwrap_or_else(Value::String);
            let place = found["x"].as_f64().zip(found["y"].as_f64());
            // An unchanged place means that the element no longer moves.
            if let Some(place) = place.filter(|_| place == before) {
                return place;
            }
            if Instant::now() > deadline {
                self.give_up(&format!("cannot click {target}: {found}"));
            }
            before = place;
            std::thread::sleep(POLL);
        }
    }

    /// Clicks at a place of the viewport.
    #[track_caller]
    pub fn click_at(&self, at: (f64, f64), button: &str, count: u32) {
        let buttons = if button == "right" { 2 } else { 1 };
        self.mouse("mouseMoved", at, json!({}));
        let pressed = json!({"button": button, "buttons": buttons, "clickCount": count});
        self.mouse("mousePressed", at, pressed);
        self.mouse(
            "mouseReleased",
            at,
            json!({"button": button, "clickCount": count}),
        );
    }

    #[track_caller]
    fn mouse(&self, kind: &str, (x, y): (f64, f64), more: Value) {
        let mut params = json!({"type": kind, "x": x, "y": y});
        merge(&mut params, more);
        self.call("Input.dispatchMouseEvent", params);
    }

    #[track_caller]
    fn stroke(&self, key: &Key) {
        let down = if key.text.is_empty() {
            "rawKeyDown"
        } else {
            "keyDown"
        };
        for (kind, text) in [(down, key.text.as_str()), ("keyUp", "")] {
            let mut params = json!({
                "type": kind, "key": key.key, "code": key.code, "modifiers": key.modifiers,
                "windowsVirtualKeyCode": key.virtual_code,
            });
            if !text.is_empty() {
                merge(&mut params, json!({"text": text}));
            }
            self.call("Input.dispatchKeyEvent", params);
        }
    }
}

fn merge(into: &mut Value, more: Value) {
    if let (Value::Object(into), Value::Object(more)) = (into, more) {
        into.extend(more);
    }
}
