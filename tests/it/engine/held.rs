//! What a job's processes hold together: their number, memory and files, whichever of them holds it and however it is hidden.

use hero::engine::{EngineSettings, Program, Python};
use hero::model::{ErrorKind, JobError, Limit};

use super::breakouts::{PERL, can_try, shell};
use super::{Bench, settings};

/// Runs a hostile script while a neighbour runs one of its own, and expects that this one ends well, and that the engine goes on.
async fn against_a_neighbour(bench: &mut Bench, script: &str) -> JobError {
    against_a_neighbour_in(bench, script, "echo 1 >&3").await
}

/// The same where scripts are in another language, with one that gives 1.
pub(super) async fn against_a_neighbour_in(bench: &mut Bench, script: &str, one: &str) -> JobError {
    let mut neighbour = Bench::with(shell(512 << 20)).await;
    let (error, fine) = tokio::join!(bench.error(script), neighbour.run("for i in {1..30}; do sleep 0.01; done; echo fine >&3"));
    assert_eq!(fine.result.unwrap().text, "fine", "{script}");
    bench.revive().await;
    assert_eq!(bench.text(one).await, "1", "{script}");
    error
}

#[tokio::test]
async fn a_fork_bomb_ends_with_its_job() {
    // Without the limit it might take the whole machine for a moment.
    if !can_try("process limit").await {
        return;
    }
    let mut bench = Bench::with(shell(512 << 20)).await;
    let error = against_a_neighbour(&mut bench, "bomb() { bomb | bomb & }; bomb; sleep 1000").await;
    assert!(error.kind == ErrorKind::Limit && error.message.contains("more than 256 processes"), "{error:?}");
}

#[tokio::test]
async fn the_processes_and_threads_of_a_job_are_limited_by_the_system() {
    let mut bench = Bench::with(shell(512 << 20)).await;
    if bench.child.confinement().contains("no process limit") {
        println!("skipped: {}", bench.child.confinement());
        return;
    }
    assert_eq!(bench.text("ulimit -u >&3").await, "1024");
    // No more than that are there, however soon they come.
    let code =
        "$n = 0; while (defined(my $pid = fork)) { if (!$pid) { sleep 1000 } $n++ } print STDERR \"refused after $n\\n\"; sleep 1000";
    let error = bench.error(&format!("exec {PERL} -e '{code}'")).await;
    assert_eq!(error.kind, ErrorKind::Limit, "{error:?}");
    let refused = bench.log.texts().iter().find_map(|line| line.strip_prefix("refused after ")?.parse::<u32>().ok());
    assert!(refused.is_none_or(|count| count <= 1024), "{refused:?}");
}

#[tokio::test]
async fn a_job_with_too_many_descriptors_to_look_at_is_ended() {
    let Some(mut bench) = python().await else { return };
    let script = "import os, time
def take():
    while True:
        try: os.open('/dev/null', os.O_RDONLY)
        except OSError: return time.sleep(1000)
for _ in range(19):
    if os.fork() == 0: take()
take()";
    let error = against_a_neighbour_in(&mut bench, script, "import hero; hero.result(1)").await;
    assert!(error.kind == ErrorKind::Limit && error.message.contains("more than 16384 open files"), "{error:?}");
}

#[tokio::test]
async fn a_job_that_fills_the_disk_is_ended() {
    for (what, fill) in [
        ("many files", "for i in {1..10}; do head -c 200M /dev/zero > $i || exit 9; done; sleep 1000"),
        ("files without names", "for i in {1..10}; do exec {fd}<>$i; head -c 200M /dev/zero >&$fd || exit 9; rm $i; done; sleep 1000"),
        ("a directory closed to itself", "mkdir d; cd d; for i in {1..10}; do head -c 200M /dev/zero > $i; done; chmod 0 .; sleep 1000"),
        ("empty files", "seq 120000 | xargs touch; sleep 1000"),
        ("directories in each other", "for i in {1..300}; do mkdir d; cd d; done; sleep 1000"),
    ] {
        let mut bench = Bench::with(shell(512 << 20)).await;
        let error = against_a_neighbour(&mut bench, fill).await;
        assert!(error.kind == ErrorKind::Limit && error.message.contains("1 GB on the disk"), "{what}: {error:?}");
    }
    let mut bench = Bench::with(shell(512 << 20)).await;
    let error = bench.error("head -c 300M /dev/zero > file").await;
    assert!(error.message.contains("exit code"), "one file has a limit of its own: {error:?}");
}

#[tokio::test]
async fn a_job_that_eats_memory_is_ended_whichever_of_its_processes_does() {
    let mut bench = Bench::with(shell(64 << 20)).await;
    let eat = format!("for i in {{1..10}}; do {PERL} -e '$x = \"a\" x 15_000_000; $y = \"b\" x 15_000_000; sleep 1000' & done; wait");
    let error = against_a_neighbour(&mut bench, &eat).await;
    assert_eq!((error.kind, error.limit), (ErrorKind::Limit, Some(Limit::Memory)), "{error:?}");
    assert!(error.message.contains("256 MB of memory in all its processes"), "{error:?}");
    let error = bench.error(&format!("exec {PERL} -e '$x = \"a\" x 500_000_000'")).await;
    assert!(format!("{error:?}").contains("Out of memory"), "{error:?}");
}

/// Python with 64 MB for the data of a process, so 256 MB for all.
async fn python() -> Option<Bench> {
    let python = Python { interpreter: "/usr/bin/python3".into(), readable: Vec::new(), memory: 64 << 20 };
    if !python.interpreter.exists() {
        println!("skipped: there is no {}", python.interpreter.display());
        return None;
    }
    Some(Bench::with(EngineSettings { program: Program::Python(python), ..settings() }).await)
}

async fn has_too_much_memory(bench: &mut Bench, what: &str, script: &str) {
    let error = bench.error(script).await;
    assert_eq!((error.kind, error.limit), (ErrorKind::Limit, Some(Limit::Memory)), "{what}: {error:?}");
    assert!(error.message.contains("256 MB of memory in all its processes"), "{what}: {error:?}");
}

#[tokio::test]
async fn memory_counts_whatever_processes_call_themselves_and_their_files() {
    let Some(mut bench) = python().await else { return };
    let eat = "\nx = mmap.mmap(-1, 400 << 20)\nx.write(b'x' * (1 << 20) * 20)\nx.seek(0)\nfor _ in range(20): x.write(b'y' * (20 << 20))\ntime.sleep(1000)";
    let named = "import ctypes, mmap, time\nctypes.CDLL(None).prctl(15, b'\\xff\\xfe')";
    has_too_much_memory(&mut bench, "a process", &format!("{named}{eat}")).await;
    let mapped = "import mmap, os, time\nf = os.open(b'\\xff\\xfe', os.O_RDWR | os.O_CREAT)\nos.truncate(f, 4096)\ny = mmap.mmap(f, 4096)";
    has_too_much_memory(&mut bench, "a file", &format!("{mapped}{eat}")).await;
}

/// Python that keeps an object by a page of it.
const KEEP: &str = "import ctypes, mmap, os, shutil, subprocess, threading, time
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
def keep_memory():
    size = 32 << 20
    at = libc.mmap(None, size, 3, 0x21, -1, 0)
    ctypes.memset(at, 1, size)
    libc.munmap(at + 4096, size - 4096)
def write(name, size=200 << 20):
    with open(name, 'ab') as file:
        for _ in range(size >> 20): file.write(b'x' * (1 << 20))
def keep_file(flags):
    write('file')
    file = os.open('file', os.O_RDWR)
    os.unlink('file')
    libc.mmap(None, 4096, 1, flags, file, 0)
    os.close(file)
";

/// Whether the sizes of mapped objects can be read here. Else a supervisor knows only what it saw mapped, which depends on chance.
fn sizes_can_be_read() -> bool {
    let own = std::fs::read_dir("/proc/self/map_files").unwrap().next().unwrap().unwrap();
    let can = std::fs::metadata(own.path()).is_ok();
    if !can {
        println!("skipped: it takes CAP_CHECKPOINT_RESTORE in the first user namespace");
    }
    can
}

#[tokio::test]
async fn shared_memory_counts_whole_if_a_page_of_it_is_mapped_whichever_threads_are_left() {
    if !sizes_can_be_read() {
        return;
    }
    let Some(mut bench) = python().await else { return };
    // Each process alone may keep what it keeps.
    let halves = "def keep():
    for _ in range(6): keep_memory()
    time.sleep(1000)
if os.fork() == 0:
    threading.Thread(target=keep).start()
    libc.pthread_exit(None)
keep()";
    has_too_much_memory(&mut bench, "memory", &format!("{KEEP}{halves}")).await;
}

#[tokio::test]
async fn removed_files_count_whole_however_a_process_keeps_them() {
    if !sizes_can_be_read() {
        return;
    }
    let Some(mut bench) = python().await else { return };
    // Five of the six are less than the limit.
    let files = "for flags in (1, 2): keep_file(flags), keep_file(flags)
for name in ('one', 'two'):
    shutil.copy('/bin/sleep', name)
    os.chmod(name, 0o755)
    write(name)
    subprocess.Popen(['./' + name, '1000'])
    os.unlink(name)
time.sleep(1000)";
    let error = bench.error(&format!("{KEEP}{files}")).await;
    assert!(error.kind == ErrorKind::Limit && error.message.contains("1 GB on the disk"), "{error:?}");
}

/// Python that makes many files, which takes a look some time, and keeps processors busy. `hop` continues in another process.
const HOPS: &str = "import ctypes, mmap, os, select, threading, time
os.mkdir('many')
for i in range(5000): os.close(os.open(f'many/{i}', os.O_CREAT | os.O_WRONLY))
for _ in range(4):
    if os.fork() == 0:
        while True: pass
def hop():
    if os.fork(): os._exit(0)
";

#[tokio::test]
async fn whoever_starts_another_process_and_ends_all_the_time_is_looked_at() {
    let Some(mut bench) = python().await else { return };
    // 480 of them are watched ten times, which counts as 300 MB.
    let watches = "if os.fork() == 0:
    pipes = [end for _ in range(240) for end in os.pipe()]
    epolls = [select.epoll() for _ in range(10)]
    for epoll in epolls:
        for end in pipes: epoll.register(end, 0)
    while True:
        hop()
        time.sleep(0.03)
time.sleep(1000)";
    has_too_much_memory(&mut bench, "watches", &format!("{HOPS}{watches}")).await;
    // To read the mappings of one process takes long, and meanwhile those that have memory are replaced.
    let memory = "libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
at = libc.mmap(None, 60000 * 8192, 0, 0x22, -1, 0)
for i in range(60000): libc.mprotect(at + i * 8192, 4096, 1)
for _ in range(9):
    if os.fork() == 0:
        libc.munmap(ctypes.c_void_p(at), ctypes.c_size_t(60000 * 8192))
        memory = mmap.mmap(-1, 50 << 20, flags=mmap.MAP_PRIVATE)
        for page in range(0, 50 << 20, 4096): memory[page] = 1
        while True:
            hop()
            time.sleep(0.03)
while True:
    decoy = os.fork()
    if decoy == 0: time.sleep(1000)
    time.sleep(0.1)
    os.kill(decoy, 9)
    os.wait()";
    has_too_much_memory(&mut bench, "memory", &format!("{HOPS}{memory}")).await;
}

#[tokio::test]
async fn a_tree_counts_that_is_moved_to_where_it_was_counted_already() {
    let Some(mut bench) = python().await else { return };
    // Directories are read in the order of their names, and the time of access tells where a look has been.
    let moves = "for name in 'abcdefghijkl': os.mkdir(name)
first, middle, last = 'abl'
for i in range(5000): os.close(os.open(f'{middle}/{i}', os.O_CREAT | os.O_WRONLY))
def accessed(name): return os.stat(name).st_atime_ns
def arm():
    os.close(os.open(middle + '/new', os.O_CREAT | os.O_WRONLY))
    os.unlink(middle + '/new')
    return accessed(middle)
os.mkdir(last + '/deep')
here = os.open(last + '/deep', os.O_RDONLY)
def build(at):
    for _ in range(200):
        os.mkdir('d', dir_fd=at)
        at = os.open('d', os.O_RDONLY, dir_fd=at)
threading.Thread(target=build, args=(here,)).start()
armed = arm()
while True:
    while accessed(middle) == armed: time.sleep(0.0005)
    os.rename(last + '/deep', first + '/deep')
    before = accessed(last)
    while accessed(last) == before: time.sleep(0.0005)
    armed = arm()
    os.rename(first + '/deep', last + '/deep')";
    let error = bench.error(&format!("{HOPS}{moves}")).await;
    assert!(error.kind == ErrorKind::Limit && error.message.contains("1 GB on the disk"), "{error:?}");
}

#[tokio::test]
async fn an_honest_job_that_starts_processes_and_moves_files_all_the_time_is_not_ended() {
    let mut bench = Bench::with(shell(512 << 20)).await;
    // A process that had stopped itself stays so, whatever is done to look at the others.
    let script = "(kill -STOP $BASHPID; : > ran) & stopped=$!
work() { for i in {1..150}; do mkdir -p $1/$i; echo $i | cat | sort > $1/$i/a; mv $1/$i $1-$i; done; }
for one in {1..4}; do work $one & jobs=\"$jobs $!\"; done
wait $jobs
echo $(ls -d *-* | wc -l) $(ls ran 2>&1 | grep -c cannot) >&3
kill -9 $stopped";
    assert_eq!(bench.text(script).await, "600 1");
}
