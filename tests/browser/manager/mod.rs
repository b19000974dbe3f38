//! The management page as a person meets it: the real page in Chromium, served by the real `postern start`, with a
//! scripted quick-setup server and a tunnel server behind it.

mod afresh;
mod board;
mod flow;
mod force;
mod forms;
mod hostile;
mod keyboard;
mod looks;
mod outage;
mod servers;
mod sharerow;
mod sharing;
mod table;
mod truth;
