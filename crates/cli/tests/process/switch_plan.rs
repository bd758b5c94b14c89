//! Schedules of networks: `ontick network plan` and `ontick network validate`.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Output, Stdio};

use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;

use crate::errors::fails;
use crate::examples::files;
use crate::{catches_interrupt, ontick, run, send, stderr, stdout, wait_until};

/// The network of the guide.
pub fn network() -> (TempDir, String) {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/switch-planning.md")).unwrap();
    let (_, text) = files(&page).into_iter().find(|(name, _)| *name == "network.toml").unwrap();
    (tempfile::tempdir().unwrap(), text.to_owned())
}

pub fn plan(folder: &TempDir, text: &str, more: &[&str]) -> Output {
    fs::write(folder.path().join("network.toml"), text).unwrap();
    let words = ["network", "plan", "network.toml"].iter().chain(more);
    ontick(&[]).current_dir(folder).args(words).output().unwrap()
}

pub fn validate(folder: &TempDir, more: &[&str]) -> Output {
    let words = ["network", "validate", "network.toml", "plan.json"].iter().chain(more);
    ontick(&[]).current_dir(folder).args(words).output().unwrap()
}

/// What another program writes, which can be read only once.
fn of_a_pipe(words: &[&str], text: &str) -> Output {
    let mut child = ontick(words);
    let mut child = child.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

#[test]
fn files_may_be_pipes() {
    let (_, text) = network();
    for command in ["plan", "show"] {
        let output = of_a_pipe(&["network", command, "/dev/stdin"], &text);
        assert_eq!(output.status.code(), Some(0), "{command}: {}", stderr(&output));
    }
    let switch = include_str!("../../../../fuzz/seeds/switch_config/cell");
    let output = of_a_pipe(&["switch", "plan", "/dev/stdin", "--for-another-machine"], switch);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

#[test]
fn each_problem_of_a_network_has_a_line_of_its_own() {
    let (folder, text) = network();
    let text = text.replace("to = \"", "to = \"no-").replace("to = [\"", "to = [\"no-");
    let refused = plan(&folder, &text, &[]);
    let said = stderr(&refused);
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.lines().count() > 1, "{said}");
    assert!(said.lines().all(|line| line.trim_start_matches("ontick: ").starts_with("network.toml:")), "{said}");
}

#[test]
fn a_plan_holds_and_makes_switches_and_pictures() {
    let (folder, text) = network();
    let more = ["--out", "plan.json", "--nodes", "nodes", "--picture", "plan.svg"];
    let planned = plan(&folder, &text, &more);
    assert_eq!(planned.status.code(), Some(0), "{}", stderr(&planned));
    assert!(stdout(&planned).contains("every stream has its place"), "{}", stdout(&planned));
    let held = validate(&folder, &[]);
    assert_eq!(held.status.code(), Some(0), "{}", stdout(&held));
    assert!(stdout(&held).contains("holds     every message arrives once and in time"), "{}", stdout(&held));
    // The switches are read as any others are.
    for node in ["s1", "camera", "controller"] {
        let file = folder.path().join(format!("nodes/{node}.toml"));
        let again = run(&["switch", "export", file.to_str().unwrap()]);
        assert_eq!(again.status.code(), Some(0), "{}", stderr(&again));
        assert_eq!(stdout(&again), fs::read_to_string(&file).unwrap());
    }
    assert!(!folder.path().join("nodes/drive.toml").exists(), "it sends nothing that is scheduled");
    let drawn = fs::read_to_string(folder.path().join("plan.svg")).unwrap();
    assert!(drawn.contains("s1&gt;controller") && drawn.contains("video: "), "{drawn}");
}

#[test]
fn nodes_with_one_name_where_they_are_set_up_are_refused_before_a_file_is_written() {
    let (folder, text) = network();
    let text = text.replace("\"camera\"", "\"production-line-1\"").replace("\"controller\"", "\"production-line-2\"");
    let refused = plan(&folder, &text, &["--out", "plan.json", "--nodes", "nodes"]);
    assert_eq!(refused.status.code(), Some(2), "{}", stderr(&refused));
    assert!(stderr(&refused).contains("are both called production-line where they are set up"), "{}", stderr(&refused));
    assert!(!folder.path().join("nodes").exists() && !folder.path().join("plan.json").exists());
}

#[test]
fn streams_that_were_planned_stay_where_they_are() {
    let (folder, text) = network();
    assert_eq!(plan(&folder, &text, &["--out", "plan.json"]).status.code(), Some(0));
    let offsets = || -> Vec<(String, u64)> {
        let plan: Value = serde_json::from_str(&fs::read_to_string(folder.path().join("plan.json")).unwrap()).unwrap();
        let streams = plan["streams"].as_array().unwrap().iter();
        streams.map(|s| (s["name"].as_str().unwrap().to_owned(), s["offset_ns"].as_u64().unwrap())).collect()
    };
    let before = offsets();
    let more = "\n[[stream]]\nname = \"urgent\"\nfrom = \"camera\"\nto = \"controller\"\nsize = 50\nperiod = \"250us\"\ndeadline = \"150us\"\n";
    let kept = plan(&folder, &(text + more), &["--keep", "plan.json", "--out", "plan.json"]);
    assert_eq!(kept.status.code(), Some(0), "{}", stdout(&kept));
    assert_eq!(offsets()[..2], before[..]);
    assert_eq!(validate(&folder, &[]).status.code(), Some(0));
}

#[test]
fn what_cannot_be_carried_is_proved() {
    let (folder, text) = network();
    let late = plan(&folder, &text.replace("\"50us\"", "\"4us\""), &[]);
    assert_eq!(late.status.code(), Some(1), "{}", stderr(&late));
    assert!(stdout(&late).contains("because   stream setpoint takes"), "{}", stdout(&late));
    let reported = plan(&folder, &text.replace("\"250us\"", "\"250001ns\""), &["--json", "--out", "plan.json"]);
    assert_eq!(reported.status.code(), Some(0), "they share no link: {}", stdout(&reported));
    let text = text.lines().filter(|line| !line.starts_with("deadline")).collect::<Vec<_>>().join("\n") + "\n";
    let second = text[text.rfind("[[stream]]").unwrap()..].replace("\"setpoint\"", "\"more\"");
    let full =
        plan(&folder, &(text.replace("size = 100", "size = 20000") + &second.replace("100", "20000")), &["--json"]);
    let reported: Value = serde_json::from_slice(&full.stdout).unwrap();
    assert_eq!((full.status.code(), &reported["outcome"]), (Some(1), &"impossible".into()));
    assert!(reported["because"].to_string().contains("which need 131.8 %"), "{reported}");
}

/// Periods of 2, 3 and 5 times 100 us meet at every 100 us: any two of the streams fit in there, three do not, and no
/// proof of a kind that is looked for tells.
pub fn three_where_two_fit(head: &str) -> String {
    let stream = |(name, period): (&str, &str)| {
        format!(
            "[[stream]]\nname = \"{name}\"\nfrom = \"camera\"\nto = \"drive\"\nsize = 4500\nperiod = \"{period}\"\n"
        )
    };
    head[..head.find("[[stream]]").unwrap()].to_owned()
        + &[("a", "200us"), ("b", "300us"), ("c", "500us")].map(stream).concat()
}

/// All that there is holds, but for the one that is missing.
fn expect_two_of_three(found: &Output, folder: &TempDir) {
    let reported: Value = serde_json::from_slice(&found.stdout).unwrap();
    assert_eq!((found.status.code(), &reported["outcome"]), (Some(1), &"not found".into()), "{reported}");
    assert_eq!(reported["without_place"].as_array().unwrap().len(), 1, "{reported}");
    let held = validate(folder, &["--json"]);
    let reported: Value = serde_json::from_slice(&held.stdout).unwrap();
    let kinds: Vec<&String> = reported["counts"].as_object().unwrap().keys().collect();
    assert_eq!(kinds, ["not sent", "route"], "{reported}");
}

#[test]
fn what_is_not_found_is_reported_with_what_there_is() {
    let (folder, text) = network();
    let found = plan(&folder, &three_where_two_fit(&text), &["--time", "500ms", "--json", "--out", "plan.json"]);
    expect_two_of_three(&found, &folder);
}

/// Processor time of a process in its own code, in ticks of 10 ms (proc(5), field 14).
fn ticks_of(pid: u32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    stat.rsplit_once(") ").unwrap().1.split(' ').nth(11).unwrap().parse().unwrap()
}

#[test]
fn control_c_gives_the_best_so_far() {
    let (folder, text) = network();
    fs::write(folder.path().join("network.toml"), three_where_two_fit(&text)).unwrap();
    let words = ["network", "plan", "network.toml", "--time", "1h", "--json", "--out", "plan.json"];
    let child = ontick(&words).current_dir(&folder).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until("the handler", || catches_interrupt(child.id()));
    // The first places are found in less than that; who is interrupted before has none.
    let so_far = ticks_of(child.id());
    wait_until("the search", || ticks_of(child.id()) > so_far + 10);
    send(child.id(), Signal::INT);
    expect_two_of_three(&child.wait_with_output().unwrap(), &folder);
}

#[test]
fn a_schedule_that_was_tampered_with_does_not_hold() {
    let (folder, text) = network();
    assert_eq!(plan(&folder, &text, &["--out", "plan.json"]).status.code(), Some(0));
    let file = folder.path().join("plan.json");
    let good = fs::read_to_string(&file).unwrap();
    let mut document: Value = serde_json::from_str(&good).unwrap();
    // A nanosecond less, and the frame does not fit.
    let window = &mut document["gates"][0]["windows"][0][2];
    *window = (window.as_u64().unwrap() - 1).into();
    fs::write(&file, document.to_string()).unwrap();
    let missing = validate(&folder, &["--json"]);
    let reported: Value = serde_json::from_slice(&missing.stdout).unwrap();
    assert_eq!((missing.status.code(), &reported["holds"]), (Some(1), &false.into()), "{reported}");
    assert!(
        reported["counts"].as_object().unwrap().keys().any(|kind| kind == "missing" || kind == "late"),
        "{reported}"
    );
    fs::write(&file, good.replace("\"video\"", "\"audio\"")).unwrap();
    let other = validate(&folder, &[]);
    assert_eq!(other.status.code(), Some(2));
    assert!(stderr(&other).contains("plan.json: there is no stream \"audio\"; the plan is of another network"));
}

#[test]
fn tsnkits_tables_are_taken_and_written() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write(
        "topo.csv",
        "link,q_num,rate,t_proc,t_prop\n\"(0, 1)\",8,1,2000,0\n\"(1, 0)\",8,1,2000,0\n\"(2, 0)\",8,1,2000,0\n\"(0, 2)\",8,1,2000,0\n",
    );
    write(
        "task.csv",
        "stream,src,dst,size,period,deadline,jitter\n0,1,[2],100,500000,500000,0\n1,2,[1],400,400000,100000,0\n",
    );
    let tables = ["--task", "task.csv", "--topo", "topo.csv", "--payload-only", "--tsnkit", "out"];
    let asked =
        |command: &str| ontick(&[]).current_dir(&folder).args(["network", command]).args(tables).output().unwrap();
    let planned = asked("plan");
    assert_eq!(planned.status.code(), Some(0), "{}", stderr(&planned));
    let held = asked("validate");
    assert_eq!(held.status.code(), Some(0), "{}{}", stdout(&held), stderr(&held));
    let gcl = fs::read_to_string(folder.path().join("out-GCL.csv")).unwrap();
    assert!(gcl.starts_with("link,queue,start,end,cycle\n\"(0, 1)\",7,"), "{gcl}");

    // A plan of such a network is the one file.
    let of_tables = |words: &[&str]| {
        let words = [words, &tables[..5]].concat();
        ontick(&words).current_dir(&folder).output().unwrap()
    };
    let planned = of_tables(&["network", "plan", "--out", "plan.json"]);
    assert_eq!(planned.status.code(), Some(0), "{}", stderr(&planned));
    let held = of_tables(&["network", "validate", "plan.json"]);
    assert_eq!(held.status.code(), Some(0), "{}{}", stdout(&held), stderr(&held));
    let neither = of_tables(&["network", "validate"]);
    assert!(stderr(&neither).contains("name a plan, or --tsnkit PREFIX"), "{}", stderr(&neither));

    write("task.csv", "stream,src,dst,size,period,deadline,jitter\n0,1,[2],100,0,500000,0\n");
    let wrong = asked("plan");
    assert_eq!(wrong.status.code(), Some(2));
    assert!(
        stderr(&wrong).starts_with("ontick: task.csv:2:5: `period`: \"0\" is not a whole number"),
        "{}",
        stderr(&wrong)
    );
}

/// tsnkit 0.3.0 made the network (30 streams, 8 switches in a line, sizes 5, periods 4, deadlines 2, seed 7), and its
/// `ls_tb` called this schedule a success. Windows overlap 22 times as its gate list alone tells, sorted by start.
#[test]
fn what_ls_tb_calls_a_success_is_refused_and_planned() {
    let tables = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/ls_tb");
    let of = |name: &str| tables.join(name).display().to_string();
    let (task, topology) = (of("task.csv"), of("topo.csv"));
    let network = ["--task", &task, "--topo", &topology, "--payload-only", "--json", "--tsnkit"];
    let refused = run(&[&["network", "validate"], &network[..], &[&of("ls_tb")]].concat());
    let reported: Value = serde_json::from_slice(&refused.stdout).unwrap();
    assert_eq!((refused.status.code(), &reported["counts"]["overlap"]), (Some(1), &22.into()), "{reported}");
    assert!(
        reported["counts"]["late"].as_u64() > Some(0) && reported["counts"]["queue crossing"].as_u64() > Some(0),
        "{reported}"
    );

    let folder = tempfile::tempdir().unwrap();
    let ours = folder.path().join("ontick").display().to_string();
    let planned = run(&[&["network", "plan"], &network[..], &[&ours]].concat());
    assert_eq!(planned.status.code(), Some(0), "{}", stderr(&planned));
    let holds = run(&[&["network", "validate"], &network[..], &[&ours]].concat());
    assert_eq!(holds.status.code(), Some(0), "{}", stdout(&holds));
}

#[test]
fn nonsense_is_reported() {
    fails(&["network", "plan"], &["--help"]);
    fails(&["network", "plan", "/nonexistent.toml"], &["/nonexistent.toml"]);
    fails(&["network", "plan", "--task", "a.csv"], &["--topo"]);
    let (folder, text) = network();
    let picture = plan(&folder, &text, &["--picture", "plan.gif"]);
    assert_eq!(picture.status.code(), Some(2));
    assert!(stderr(&picture).contains("end the name with .svg or .png"), "{}", stderr(&picture));
    let named = plan(&folder, &text, &["--tsnkit", "x"]);
    assert!(stderr(&named).contains("its tables have numbers for names"), "{}", stderr(&named));
    let wrong = plan(&folder, &text.replace("\"camera\"\nto", "\"camra\"\nto"), &[]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(stderr(&wrong).contains("there is no node \"camra\"; did you mean `camera`?"), "{}", stderr(&wrong));
}

/// A switch knows streams by their address: of two that part and have the same, the plan says so before files are wanted.
#[test]
fn a_plan_says_that_a_switch_cannot_tell_its_streams_apart() {
    let text = "switch = [{ name = \"s1\" }]\nstation = [{ name = \"a\" }, { name = \"b\" }, { name = \"c\" }]\n\
                link = [{ between = [\"a\", \"s1\"] }, { between = [\"s1\", \"b\"] }, { between = [\"s1\", \"c\"] }]\n\
                stream = [{ name = \"x\", from = \"a\", to = \"b\", size = 64, period = \"1ms\", address = \"03:00:00:00:00:01\" },\n\
                { name = \"y\", from = \"a\", to = \"c\", size = 64, period = \"1ms\", address = \"03:00:00:00:00:01\" }]\n";
    let (folder, _) = network();
    let planned = plan(&folder, text, &[]);
    assert_eq!(planned.status.code(), Some(0), "{}", stderr(&planned));
    let said = stderr(&planned);
    assert!(said.contains("no switch can carry out this plan: streams x and y have the address"), "{said}");
    let apart = plan(&folder, &text.replacen("00:01", "00:02", 1), &[]);
    assert_eq!((apart.status.code(), stderr(&apart).as_str()), (Some(0), ""));
}

/// What is planned for gates that are exactly on time is no plan for a data plane that is not.
#[test]
fn a_plan_holds_on_the_data_plane_that_it_was_made_for() {
    let (folder, text) = network();
    let exact = plan(&folder, &text, &["--out", "plan.json", "--nodes", "nodes"]);
    assert_eq!(exact.status.code(), Some(0), "{}", stderr(&exact));
    assert!(stderr(&exact).contains("plan with --target user, kernel or hardware"), "{}", stderr(&exact));
    let held = validate(&folder, &["--target", "user"]);
    assert_eq!(held.status.code(), Some(1), "{}", stdout(&held));
    assert!(stdout(&held).contains("is open for 1.136us, and its shortest frame needs 4.636us"), "{}", stdout(&held));

    let user = plan(&folder, &text, &["--target", "user", "--out", "plan.json", "--nodes", "nodes"]);
    assert_eq!(user.status.code(), Some(0), "{}", stdout(&user));
    assert!(stdout(&user).contains("each window has 3.5us beyond its frames"), "{}", stdout(&user));
    assert!(stdout(&user).contains("(assumed, not measured)"), "{}", stdout(&user));
    assert_eq!(validate(&folder, &["--target", "user"]).status.code(), Some(0));
    let node = fs::read_to_string(folder.path().join("nodes/s1.toml")).unwrap();
    assert!(node.contains("plane = \"user\"") && node.contains("for = \"4.636us\""), "{node}");
    // Less than it was planned with is enough, more is not.
    assert_eq!(validate(&folder, &["--target", "user", "--spread", "1us"]).status.code(), Some(0));
    assert_eq!(validate(&folder, &["--target", "user", "--spread", "3us"]).status.code(), Some(1));
}

/// What ports of a kind cannot carry is known with the plan, and a plan that is written holds there.
#[test]
fn a_plan_for_ports_of_a_kind_holds_on_them_or_is_not_written() {
    let text = "switch = [{ name = \"s1\" }]\nstation = [{ name = \"a\" }, { name = \"b\" }, { name = \"c\" }]\n\
                link = [{ between = [\"a\", \"s1\"] }, { between = [\"c\", \"s1\"] }, { between = [\"s1\", \"b\"] }]\n\
                stream = [{ name = \"x\", from = \"a\", to = \"b\", size = 64, period = \"1ms\" },\n\
                { name = \"y\", from = \"c\", to = \"b\", size = 100, period = \"1ms\" }]\n\
                network = { processing = \"1us\" }\n";
    for target in ["any", "user", "kernel", "hardware", "i210", "list-256"] {
        let (folder, _) = network();
        let planned = plan(&folder, text, &["--target", target, "--out", "plan.json", "--nodes", "nodes"]);
        assert_eq!(planned.status.code(), Some(0), "{target}: {}", stderr(&planned));
        let held = validate(&folder, &["--target", target]);
        assert_eq!(held.status.code(), Some(0), "{target}: {}", stdout(&held));
    }
    let (folder, _) = network();
    for (words, why) in [
        (["--target", "i225"], "link s1>b: the gate of queue 0 opens more than once in a cycle"),
        (["--max-entries", "2"], "the gate control list has 3 entries, and there may be 2"),
    ] {
        let more = [&words[..], &["--out", "plan.json", "--nodes", "nodes"]].concat();
        let planned = plan(&folder, text, &more);
        assert_eq!(planned.status.code(), Some(1), "{}", stdout(&planned));
        assert!(stderr(&planned).contains(why), "{}", stderr(&planned));
        assert!(stderr(&planned).ends_with("no file was written\n"), "{}", stderr(&planned));
        assert!(!folder.path().join("plan.json").exists() && !folder.path().join("nodes").exists());
    }
}

#[test]
fn a_margin_that_makes_a_plan_impossible_is_said_with_what_helps() {
    let (folder, text) = network();
    let kernel = plan(&folder, &text, &["--target", "kernel"]);
    // Wherever lines are broken.
    let words = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let reported = words(stdout(&kernel));
    assert_eq!(kernel.status.code(), Some(1), "{reported}");
    assert!(
        reported.contains("its deadline is 50us (the data plane takes up to 50us to send and 20us to forward)"),
        "{reported}"
    );
    assert!(
        reported.contains("without what the data plane needs of each window and node there is a plan"),
        "{reported}"
    );
    assert!(reported.contains("ontick switch calibrate"), "{reported}");
    // It is not the margin's doing where there is none anyway.
    let late = plan(&folder, &text.replace("\"50us\"", "\"4us\""), &["--target", "kernel"]);
    assert!(!words(stdout(&late)).contains("there is a plan"), "{}", stdout(&late));
    fs::write(folder.path().join("here.json"), "{}").unwrap();
    let file = folder.path().join("network.toml").to_str().unwrap().to_owned();
    let here = folder.path().join("here.json").to_str().unwrap().to_owned();
    fails(&["network", "plan", &file, "--target", "user", "--spread", "2s"], &["no data plane needs that"]);
    fails(&["network", "plan", &file, "--calibration", &here], &["no calibration of ontick"]);
}

#[test]
fn a_network_is_shown_with_its_routes_and_loads() {
    let (folder, text) = network();
    assert_eq!(plan(&folder, &text, &["--out", "plan.json"]).status.code(), Some(0));
    let show = |more: &[&str]| {
        let words = ["network", "show", "network.toml"].iter().chain(more);
        ontick(&[]).current_dir(&folder).args(words).output().unwrap()
    };
    let shown = show(&["plan.json", "--svg", "network.svg"]);
    assert_eq!(shown.status.code(), Some(0), "{}", stderr(&shown));
    let said = stdout(&shown);
    assert!(said.contains("1 switch, 3 stations, 3 cables · 2 streams · routes: as planned"), "{said}");
    // 6 000 octets a millisecond are four frames of 1 542 octets with all that the wire carries; setpoint takes 142 octets
    // four times as often.
    let row = |name: &str| said.lines().find(|line| line.trim_start().starts_with(name)).unwrap().to_owned();
    let words = |name: &str| row(name).split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(words("camera>s1"), ["camera>s1", "1Gbit", "1", "4.9", "%"]);
    assert_eq!(words("s1>drive"), ["s1>drive", "1Gbit", "1", "0.5", "%"]);
    assert!(row("video").ends_with("camera s1 controller"), "{said}");
    let drawn = fs::read_to_string(folder.path().join("network.svg")).unwrap();
    assert!(drawn.contains("data-between=\"camera s1\"") && drawn.contains("4.9\u{202f}%"), "{drawn}");

    let all: Value = serde_json::from_str(&stdout(&show(&["--json"]))).unwrap();
    assert_eq!(all["routes"], "shortest");
    assert_eq!(all["links"].as_array().unwrap().len(), 6);
    assert_eq!(all["streams"][0]["route"], serde_json::json!(["camera>s1", "s1>controller"]));
    assert_eq!(show(&["nowhere.json"]).status.code(), Some(2));
}

#[test]
fn a_network_that_is_drawn_is_planned_and_its_first_line_draws_it_again() {
    let folder = tempfile::tempdir().unwrap();
    let draw = |words: &[&str]| ontick(&["network", "generate"]).current_dir(&folder).args(words).output().unwrap();
    let more = ["--shape", "mesh", "--switches", "6", "--streams", "40", "--deadline", "40%..100%", "--load", "30%"];
    let drawn = draw(&more);
    let text = stdout(&drawn);
    let planned = plan(&folder, &text, &["--out", "plan.json"]);
    assert_eq!(planned.status.code(), Some(0), "{}{}", stderr(&planned), stdout(&planned));
    let held = validate(&folder, &[]);
    assert_eq!(held.status.code(), Some(0), "{}", stdout(&held));
    let first: Vec<&str> = text.lines().next().unwrap().split(' ').collect();
    assert_eq!(first[..4], ["#", "ontick", "network", "generate"]);
    let again = draw(&[&first[4..], &["--out", "again.toml"]].concat());
    assert!(stdout(&again).is_empty() && again.status.code() == Some(0), "{}", stderr(&again));
    assert_eq!(fs::read_to_string(folder.path().join("again.toml")).unwrap(), text);
    assert_ne!(stdout(&draw(&[&more[..], &["--seed", "2", "--stations", "9", "--processing", "3us"]].concat())), text);
    // The load is that which `show` prints.
    let shown = ontick(&["network", "show", "again.toml", "--json"]).current_dir(&folder).output().unwrap();
    let shown: Value = serde_json::from_str(&stdout(&shown)).unwrap();
    assert!(shown["links"].as_array().unwrap().iter().all(|link| link["load"].as_f64() <= Some(0.3)), "{shown}");
    for (words, why) in [
        (&["--switches", "2"][..], "a ring has 3 switches at least, not 2"),
        (&["--listeners", "1..4"], "a stream cannot have 4 listeners where there are 4 stations"),
        (&["--load", "1%", "--streams", "500"], "streams were drawn: none of 1000 draws of the next one could"),
        (&["--size", "0..9"], "is neither a number nor a range from 1 to 1500000"),
        (&["--out", "none/x.toml"], "none/x.toml: No such file"),
    ] {
        let refused = draw(words);
        assert!(refused.status.code() == Some(2) && stderr(&refused).contains(why), "{why}: {}", stderr(&refused));
        assert!(stdout(&refused).is_empty(), "{}", stdout(&refused));
    }
}

#[test]
fn the_file_of_a_switch_is_no_network() {
    let (folder, text) = network();
    let nodes = plan(&folder, &text, &["--target", "user", "--nodes", "nodes"]);
    assert_eq!(nodes.status.code(), Some(0), "{}", stderr(&nodes));
    let node = folder.path().join("nodes/s1.toml").to_str().unwrap().to_owned();
    fails(&["network", "plan", &node], &["describes a switch, not a network", "ontick switch plan"]);
}
