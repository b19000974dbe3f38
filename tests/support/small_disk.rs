//! A small disk of its own, to be filled.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A disk of 512 KiB, unmounted on drop.
pub struct SmallDisk(PathBuf);

impl SmallDisk {
    /// Mounts one; none where this user may not mount.
    pub fn mount(at: &Path) -> Option<SmallDisk> {
        let mut mount = Command::new("mount");
        mount
            .args(["-t", "tmpfs", "-o", "size=512k,mode=0700", "tmpfs"])
            .arg(at);
        let mounted = mount.output().is_ok_and(|output| output.status.success());
        if !mounted {
            eprintln!("NOT TRIED: this user cannot mount a small disk");
        }
        mounted.then(|| SmallDisk(at.to_owned()))
    }

    /// Takes all the room.
    pub fn fill(&self) {
        let mut filler = File::create(self.0.join("filler")).expect("a file is made");
        while filler.write_all(&[0; 512]).is_ok() {}
    }

    /// Gives it back.
    pub fn free(&self) {
        fs::remove_file(self.0.join("filler")).expect("it was filled");
    }

    /// Lets nobody write.
    pub fn protect(&self) {
        let mut mount = Command::new("mount");
        mount.args(["-o", "remount,ro"]).arg(&self.0);
        assert!(mount.status().is_ok_and(|status| status.success()));
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}
