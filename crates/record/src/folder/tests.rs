use super::*;
use crate::{Manifest, Ran, Run};
use crate::{SizeRange, summarise, tests::example};
use arrow_ipc::reader::FileReader;
use fanin_units::Time;

/// An empty folder of this test's own, removed at the end.
struct Place(PathBuf);

impl Place {
    fn new(test: &str) -> Self {
        let path = std::env::temp_dir().join(format!("fanin-record-{test}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }
    /// The names in it, hidden ones too.
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).unwrap();
        let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn write(target: &Path, run: &Run, name: &str, overwrite: bool) -> Result<(), RecordError> {
    let summary = summarise(&example(), SizeRange::ALL, false);
    let manifest = Manifest::new(name, 1, run, 0.5, false);
    let spec_toml = "spec_version = 1\n";
    write_folder(
        target,
        &RunFiles { ran: Ran::Spec(spec_toml), manifest: &manifest, run, summary: &summary },
        overwrite,
    )
}

fn manifest_name(target: &Path) -> String {
    let manifest: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(target.join(MANIFEST)).unwrap()).unwrap();
    manifest["name"].as_str().unwrap().to_string()
}

#[test]
fn a_folder_holds_everything_and_reads_back() {
    let place = Place::new("whole");
    let target = place.0.join("runs").join("first");
    write(&target, &example(), "first", false).unwrap();
    let mut names: Vec<_> =
        fs::read_dir(&target).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    let wanted = [
        "README.md",
        "classes.arrow",
        "collectives.arrow",
        "critical.arrow",
        "events.arrow",
        "flows.arrow",
        "histograms.arrow",
        "hops.arrow",
        "host_waits.arrow",
        "manifest.json",
        "nodes.arrow",
        "pauses.arrow",
        "ports.arrow",
        "ranks.arrow",
        "series.arrow",
        "spec.resolved.toml",
        "summary.json",
        "watch.arrow",
    ];
    assert_eq!(names, wanted);
    let read = |file| {
        let reader = FileReader::try_new(File::open(target.join(file)).unwrap(), None).unwrap();
        reader.map(|batch| batch.unwrap()).collect::<Vec<RecordBatch>>()
    };
    assert_eq!(read("flows.arrow"), [tables::flows(&example()).unwrap()]);
    assert_eq!(read("watch.arrow"), [tables::watch(&example()).unwrap()]);
    assert_eq!(read("hops.arrow"), [tables::hops(&example()).unwrap()]);
    let manifest: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(target.join(MANIFEST)).unwrap()).unwrap();
    assert_eq!(manifest["event_hash"], "0000000000000abc");
    assert_eq!(manifest["packet_hops_per_second"], 2000.0);
    assert_eq!(manifest["simulated_ps"], 500_000_000);
    let summary: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(target.join("summary.json")).unwrap()).unwrap();
    assert_eq!(summary["traffics"][0]["unfinished"], 1);
    assert_eq!(summary["errors"].as_array().unwrap().len(), 1);
    assert_eq!((&manifest["cancelled"], &manifest["complete"]), (&false.into(), &true.into()));
    // Each other file with its size, its hash as sha256sum prints it, and the rows of a table.
    let files = manifest["files"].as_object().unwrap();
    assert!(files.keys().eq(names.iter().filter(|name| *name != MANIFEST)));
    assert_eq!(files["flows.arrow"]["rows"], example().flows.len());
    assert_eq!(files["flows.arrow"]["bytes"], fs::metadata(target.join("flows.arrow")).unwrap().len());
    let spec = "2c1c77a6d51104e9e255b55910ae91cfca1d0f34b5f0b58aca89f1993c1663f9";
    assert_eq!(files["spec.resolved.toml"]["sha256"], spec);
    // It says what each file is, and nothing of files that are not there.
    let readme = fs::read_to_string(target.join("README.md")).unwrap();
    assert!(readme.starts_with("# first\n\nA run of Fanin 0.1.0 with seed 1."), "{readme}");
    for name in names {
        assert!(readme.contains(&format!("`{}`", name.trim_end_matches(".arrow"))), "{name}");
    }
    assert!(!readme.contains("INCOMPLETE") && !readme.contains("capture.pcapng"));
    assert!(readme.ends_with(&crate::columns::markdown()));
}

#[test]
fn a_run_that_was_stopped_is_marked() {
    let place = Place::new("stopped");
    let said = |run: &Run, name: &str| {
        let target = place.0.join(name);
        let summary = summarise(run, SizeRange::ALL, false);
        let manifest = Manifest::new(name, 1, run, 0.5, true);
        let files = RunFiles { ran: Ran::Spec(""), manifest: &manifest, run, summary: &summary };
        write_folder(&target, &files, false).unwrap();
        let manifest = fs::read_to_string(target.join(MANIFEST)).unwrap();
        assert!(manifest.contains("\"complete\": false"), "{manifest}");
        let line = fs::read_to_string(target.join("INCOMPLETE")).unwrap();
        let readme = fs::read_to_string(target.join("README.md")).unwrap();
        assert!(
            readme.contains(&format!("**This run is not complete.** {line}")) && readme.contains("| `INCOMPLETE` |")
        );
        line
    };
    let early = Run { stopped: Time::from_us(150), ..example() };
    let expected = "Stopped at 0.150 ms of 200 us of simulated time; percentiles are over what had finished by then: 5 \
                    of 7 messages that had begun.\n";
    assert_eq!(said(&early, "early"), expected);
    let late = said(&example(), "late");
    assert!(late.starts_with("Stopped at 0.500 ms after the end of the measured window at 200 us"), "{late}");
    let open = said(&Run { measured_to: Time::NEVER, ..example() }, "open");
    assert!(open.starts_with("Stopped at 0.500 ms before its end"), "{open}");
}

/// A disk that is full from the first byte on.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error_that_names_the_file_in_its_place() {
    let place = Place::new("full");
    let target = place.0.join("run");
    let error = write_whole(&target, false, |folder| {
        Filling::new(folder).write("a", |file| file.write_all(b"fits"))?;
        let path = folder.join("flows.arrow");
        let full = File::options().write(true).open("/dev/full").unwrap();
        let written = write_through(full, |file| file.write_all(&[0; 100])).map(|_| ());
        written.map_err(|source| RecordError::io("write", &path, source))
    });
    let text = error.unwrap_err().to_string();
    let expected = format!("cannot write {}: No space left on device", target.join("flows.arrow").display());
    assert_eq!(text, expected);
    assert_eq!(place.names(), [""; 0], "the hidden folder is gone");
    // Where nothing may be written there is nothing either.
    let error = write(&Path::new("/proc").join("run"), &example(), "x", false).unwrap_err().to_string();
    assert!(error.starts_with("cannot make folder /proc/run: "), "{error}");
}

#[test]
fn a_write_that_fails_half_way_leaves_nothing() {
    let place = Place::new("fails");
    let mut run = example();
    // The flow table is written before this is found out.
    run.histograms.clear();
    let error = write_whole(&place.0.join("run"), false, |folder| {
        Filling::new(folder).write("a", |file| file.write_all(b"half"))?;
        Filling::new(folder).write("b", |_| Err(io::Error::other("disk full")))
    });
    let text = error.unwrap_err().to_string();
    assert_eq!(text, format!("cannot write {}: disk full", place.0.join("run").join("b").display()));
    assert_eq!(place.names(), [""; 0]);
    // The same for a run that does not fit together.
    run.flows[0].traffic = 9;
    assert!(matches!(write(&place.0.join("run"), &run, "x", false), Err(RecordError::Inconsistent(_))));
    assert_eq!(place.names(), [""; 0]);
}

#[test]
fn a_run_is_only_replaced_when_asked_and_then_whole() {
    let place = Place::new("replaced");
    let target = place.0.join("run");
    write(&target, &example(), "old", false).unwrap();
    let error = write(&target, &example(), "new", false).unwrap_err();
    assert!(matches!(error, RecordError::Exists(_)), "{error}");
    assert_eq!(manifest_name(&target), "old");
    let mut broken = example();
    broken.ports.clear();
    assert!(write(&target, &broken, "new", true).is_err());
    assert_eq!(manifest_name(&target), "old");
    write(&target, &example(), "new", true).unwrap();
    assert_eq!(manifest_name(&target), "new");
    assert_eq!(place.names(), ["run"]);
}

#[test]
fn a_claim_of_this_process_is_replaced_and_that_of_another_is_not() {
    let place = Place::new("claimed");
    for (name, process, free) in [("mine", std::process::id(), true), ("theirs", std::process::id() + 1, false)] {
        let target = place.0.join(name);
        fs::create_dir(&target).unwrap();
        fs::write(target.join(CLAIM), format!("{process}\n")).unwrap();
        assert_eq!(write(&target, &example(), "run", false).is_ok(), free, "{name}");
        assert_eq!(target.join(CLAIM).exists(), !free);
    }
    assert_eq!(place.names(), ["mine", "theirs"]);
}

#[test]
fn of_two_runs_that_end_at_once_in_one_place_the_second_does_not_replace_the_first() {
    let place = Place::new("race");
    let target = place.0.join("run");
    // The second looks while the place is free, and finds it taken when it has written its files.
    let error = write_whole(&target, false, |_| write(&target, &example(), "first", false)).unwrap_err();
    assert!(matches!(error, RecordError::Exists(_)), "{error}");
    assert!(matches!(move_to(&place.0, &target), Err(RecordError::Exists(_))));
    assert_eq!(manifest_name(&target), "first");
    assert_eq!(place.names(), ["run"]);
}

#[test]
fn what_is_no_run_is_never_replaced() {
    let place = Place::new("precious");
    let target = place.0.join("photos");
    fs::create_dir(&target).unwrap();
    fs::write(target.join("cat.jpg"), "x").unwrap();
    let error = write(&target, &example(), "run", true).unwrap_err();
    assert!(matches!(error, RecordError::NotARunFolder(_)), "{error}");
    assert!(target.join("cat.jpg").exists());
    assert!(matches!(write(Path::new("/"), &example(), "run", true), Err(RecordError::NotARunFolder(_))));
}

#[test]
fn what_was_written_meanwhile_goes_into_the_folder_and_not_beyond_the_run() {
    let place = Place::new("spool");
    let mut writer = crate::Spool::create("some.trace").unwrap();
    writer.write_all(b"bytes").unwrap();
    let spool = writer.finish().unwrap();
    let waits = spool.path().to_path_buf();
    let run = Run { files: vec![spool], ..example() };
    let copy = run.clone();
    for name in ["first", "second"] {
        let target = place.0.join(name);
        write(&target, &run, name, false).unwrap();
        assert_eq!(fs::read(target.join("some.trace")).unwrap(), b"bytes");
    }
    drop(run);
    assert!(waits.exists(), "a copy of the run still has it");
    drop(copy);
    assert!(!waits.exists());
    assert_eq!(place.names(), ["first", "second"]);
}
