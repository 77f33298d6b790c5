"""What a hostile trial tries within its sandbox. Runs as a trial: each probe prints what it tried and what stopped it.

The test puts targets on the machine and names them in the hyperparameters. A probe that gets further than it should prints REACHED.
"""

import array
import ctypes
import fcntl
import glob
import os
import platform
import resource
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import muster

Probe = Callable[[], object]
_libc = ctypes.CDLL(None, use_errno=True)
_X86 = platform.machine() == "x86_64"
probes: dict[str, Probe] = {}


class Stopped(Exception):
    """Something stopped the probe that is not an OSError."""


def probe(what: str) -> Callable[[Probe], Probe]:
    def add(function: Probe) -> Probe:
        assert what not in probes
        probes[what] = function
        return function

    return add


def syscall(x86: int, arm: int, *arguments: object) -> int:
    result: int = _libc.syscall(x86 if _X86 else arm, *arguments)
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def nothing_found(found: object) -> object:
    if not found:
        raise Stopped("nothing is there")
    return found


def open_file(path: str, mode: str = "rb") -> Probe:
    def attempt() -> object:
        with open(path, mode) as file:
            return file.read(64) if "r" in mode and "+" not in mode else "opened for writing"

    return attempt


def connect_unix(address: str) -> Probe:
    def attempt() -> object:
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(3)
            client.connect(address)
        return "connected"

    return attempt


def connect_tcp(host: str, port: int) -> Probe:
    def attempt() -> object:
        with socket.create_connection((host, port), timeout=3):
            return "connected"

    return attempt


def main() -> None:
    trial = muster.trial()
    given = trial.hparams
    describe(given)
    count = 0
    for what, attempt in probes.items():
        try:
            found = attempt()
        except (OSError, Stopped, ValueError, subprocess.SubprocessError) as stopped:
            print(f"probe: {what}: stopped: {type(stopped).__name__}: {stopped}", flush=True)
            count += 1
        else:
            print(f"probe: {what}: REACHED: {str(found)[:200]}", flush=True)
    print(f"\x1b]0;title\x07\x1b[2Jescape-test {count} of {len(probes)}", flush=True)
    trial.report(1, stopped=count, all=len(probes))


def describe(given: Mapping[str, object]) -> None:
    worker, other = str(given["worker"]), str(given["other_run"])
    run = os.path.dirname(os.environ["MUSTER_TRIAL"])
    described_files(worker, other, run, given)
    described_processes(given)
    described_sockets(worker, other, run, given)
    described_memory(given)
    described_kernel()
    described_privileges(given)


def described_files(worker: str, other: str, run: str, given: Mapping[str, object]) -> None:
    for what, path in {
        "read the worker's key": f"{worker}/identity/seed",
        "read the worker's credentials": f"{worker}/identity/credentials.json",
        "read password hashes": "/etc/shadow",
        "read a file of the machine that everybody may read": str(given["public_file"]),
        "read a file in the machine's /tmp": str(given["tmp_file"]),
        "read another run's code": f"{other}/code/train.py",
        "read another run's record": f"{other}/run.json",
        "read its own record": f"{run}/run.json",
        "read the host keys of SSH": "/etc/ssh/ssh_host_ed25519_key",
        "read kernel memory": "/proc/kcore",
        "read kernel messages": "/dev/kmsg",
        "read the machine's memory": "/dev/mem",
        "read the machine's disk": str(given["disk"]),
        "open a tunnel device": "/dev/net/tun",
        "open FUSE": "/dev/fuse",
    }.items():
        probe(what)(open_file(path))
    for what, path in {
        "write to the system's programs": "/usr/local/bin/hostile",
        "write to the interpreter": f"{sys.prefix}/hostile.py",
        "change the SDK": str(muster.__file__),
        "change the accounts": "/etc/passwd",
        "change its description": os.environ["MUSTER_TRIAL"],
        "write beside its own folders": f"{run}/hostile",
        "write into the root": "/hostile",
        "set the program for core dumps": "/proc/sys/kernel/core_pattern",
        "trigger a kernel command": "/proc/sysrq-trigger",
        "suspend the machine": "/sys/power/state",
        "write a uevent helper": "/sys/kernel/uevent_helper",
    }.items():
        probe(what)(open_file(path, "ab"))
    probe("list the worker's runs")(
        lambda: nothing_found(set(os.listdir(f"{worker}/runs")) - {os.path.basename(run)})
    )
    probe("list the worker's cache")(lambda: os.listdir(f"{worker}/cache"))
    probe("link a system file into its folder")(lambda: os.link("/etc/passwd", "passwd"))
    probe("leave by the root of process 1")(lambda: os.listdir("/proc/1/root/"))
    probe("leave by ..")(lambda: nothing_found({"boot", "home", "srv"} & set(os.listdir("/../.."))))
    probe("find set-user-id programs that work")(set_user_id)
    probe("watch the worker's folder with inotify")(lambda: watch(f"{worker}/identity"))
    probe("find what an earlier run left in /tmp or caches")(leftovers)


def limit_init() -> object:
    limits = struct.pack("2Q", 64, 64)
    syscall(302, 261, ctypes.c_long((1 << 32) + 1), resource.RLIMIT_NOFILE, limits, None)
    return "limited"


def set_user_id() -> object:
    for path in ("/usr/bin/su", "/usr/bin/mount", "/usr/bin/passwd", "/bin/su"):
        if os.path.exists(path) and os.stat(path).st_mode & 0o4000:
            ran = subprocess.run([path, "--version"], capture_output=True, timeout=10, check=False)
            del ran
    status = Path("/proc/self/status").read_text()
    if "NoNewPrivs:\t1" in status:
        raise Stopped("no_new_privs")
    return "set-user-id programs gain privileges"


def watch(folder: str) -> object:
    descriptor = _libc.inotify_init1(0)
    if _libc.inotify_add_watch(descriptor, folder.encode(), 0xFFF) < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return "watching"


def leftovers() -> object:
    places = ["/tmp", "/var/tmp", "/dev/shm", os.environ["HOME"], os.environ["TMPDIR"]]
    places += [
        os.environ[name]
        for name in ("XDG_CACHE_HOME", "TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR", "CUDA_CACHE_PATH")
    ]
    return nothing_found(
        [path for place in places for path in glob.glob(f"{place}/**/left-by-run-1", recursive=True)]
    )


def described_processes(given: Mapping[str, object]) -> None:
    other, daemon = int(str(given["other_pid"])), int(str(given["daemon_pid"]))
    probe("see processes of others")(
        lambda: nothing_found(
            [
                one
                for one in os.listdir("/proc")
                if one.isdigit() and owner_of(one) not in ("", str(os.getuid()))
            ]
        )
    )
    probe("read the environment of another run's process")(open_file(f"/proc/{other}/environ"))
    probe("read the environment of process 1")(open_file("/proc/1/environ"))
    probe("read the memory of process 1")(open_file("/proc/1/mem"))
    probe("signal the daemon")(lambda: os.kill(daemon, 0))
    probe("signal another run")(lambda: os.kill(other, signal.SIGKILL))
    probe("open another run's process")(lambda: os.pidfd_open(other))
    probe("kill process 1")(kill_init)
    probe("limit the processor time of process 1")(lambda: resource.prlimit(1, resource.RLIMIT_CPU, (1, 1)))
    probe("limit process 1 by a number that the kernel shortens")(limit_init)
    probe("trace process 1")(lambda: check(_libc.ptrace(16, 1, 0, 0)))
    probe("read the memory of process 1 by system call")(read_memory)
    probe("enter the namespaces of process 1")(
        lambda: check(_libc.setns(os.open("/proc/1/ns/mnt", os.O_RDONLY), 0))
    )
    probe("raise its priority")(lambda: os.setpriority(os.PRIO_PROCESS, 0, -5))
    probe("become unkillable when memory is short")(
        lambda: Path("/proc/self/oom_score_adj").write_text("-900")
    )
    probe("type into a terminal")(type_into_terminal)


def owner_of(pid: str) -> str:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return ""
    return next(line.split()[1] for line in lines if line.startswith("Uid:"))


def kill_init() -> object:
    os.kill(1, signal.SIGKILL)
    if os.path.exists("/proc/1"):
        raise Stopped("the kernel ignores the signal")
    return "killed"


def check(result: int) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def read_memory() -> object:
    class Vector(ctypes.Structure):
        _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))

    buffer = ctypes.create_string_buffer(64)
    local, remote = Vector(ctypes.addressof(buffer), 64), Vector(id(object), 64)
    return check(_libc.process_vm_readv(1, ctypes.byref(local), 1, ctypes.byref(remote), 1, 0))


def type_into_terminal() -> object:
    _master, slave = os.openpty()
    return fcntl.ioctl(slave, 0x5412, b"x")


def described_sockets(worker: str, other: str, run: str, given: Mapping[str, object]) -> None:
    probe("connect to the warm parent")(connect_unix(f"{worker}/parent/parent.sock"))
    probe("connect to another run's rank socket")(connect_unix(f"{other}/link/ranks.sock"))
    probe("connect to the worker's old rank socket")(connect_unix(f"{worker}/ranks.sock"))
    probe("connect to a socket in the machine's /tmp")(connect_unix(str(given["unix"])))
    probe("join its own socket with another token")(lambda: join(f"{run}/link/ranks.sock"))
    probe("connect to an abstract socket of the machine")(connect_unix("\0" + str(given["abstract"])))
    probe("connect to a service on the machine's loopback")(connect_tcp("127.0.0.1", int(str(given["tcp"]))))
    probe("connect to another gang's rendezvous")(connect_tcp("127.0.0.1", int(str(given["rendezvous"]))))
    probe("connect to the cloud's metadata service")(connect_tcp("169.254.169.254", 80))
    probe("connect to the metadata service by IPv6")(connect_tcp("fd00:ec2::254", 80))
    for what, family, kind, protocol in (
        ("open a packet socket", 17, socket.SOCK_RAW, 0),
        ("open a raw socket", socket.AF_INET, socket.SOCK_RAW, 1),
        ("open a VSOCK socket", 40, socket.SOCK_STREAM, 0),
        ("open a kernel crypto socket", 38, socket.SOCK_SEQPACKET, 0),
        ("open a Bluetooth socket", 31, socket.SOCK_RAW, 1),
    ):
        probe(what)(partial(socket.socket, family, kind, protocol))
    probe("change an address by netlink")(change_address)


def join(path: str) -> object:
    body = b'{"t":"hello","token":"' + b"0" * 32 + b'","rank":0,"pid":1}'
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(5)
        client.connect(path)
        client.sendall(struct.pack(">I", len(body)) + body)
        answer = client.recv(4096)
    if not answer or b"refused" in answer:
        raise Stopped("the worker refuses the token")
    return answer


def change_address() -> object:
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as netlink:
        netlink.bind((0, 0))
        # RTM_DELLINK of interface 1, with an acknowledgement
        netlink.send(struct.pack("=IHHII", 32, 17, 5, 1, 0) + struct.pack("=BxHiII", 0, 0, 1, 0, 0))
        answer = netlink.recv(4096)
    error = struct.unpack_from("=i", answer, 16)[0]
    if error:
        raise OSError(-error, os.strerror(-error))
    return "deleted"


def described_memory(given: Mapping[str, object]) -> None:
    probe("find another run's shared memory")(open_file(str(given["shm_file"])))
    probe("attach System V shared memory of the machine")(
        lambda: check(_libc.shmget(int(str(given["shm_key"])), 0, 0))
    )
    probe("find a message queue of the machine")(lambda: nothing_found(os.listdir("/dev/mqueue")))


def described_kernel() -> None:
    probe("mount a file system")(lambda: check(_libc.mount(b"x", b"/tmp", b"tmpfs", 0, b"")))
    probe("unmount a mask")(lambda: check(_libc.umount2(b"/proc/sys", 2)))
    probe("make a system folder writable")(lambda: check(_libc.mount(b"none", b"/usr", None, 0x1020, b"")))
    probe("change its root")(lambda: os.chroot("/tmp"))
    probe("make a user namespace")(lambda: check(_libc.unshare(0x10000000)))
    probe("make a mount namespace")(lambda: check(_libc.unshare(0x00020000)))
    probe("make a user namespace by clone")(clone_user_namespace)
    probe("make a user namespace by clone3")(
        lambda: syscall(435, 435, (ctypes.c_uint64 * 11)(0x10000000, 0, 0, 0, 17), 88)
    )
    probe("load a BPF program")(lambda: syscall(321, 280, 5, 0, 0))
    probe("read performance counters")(lambda: syscall(298, 241, (ctypes.c_char * 120)(), 0, -1, -1, 0))
    probe("use io_uring")(lambda: syscall(425, 425, 4, (ctypes.c_char * 120)()))
    probe("read the kernel's keys")(lambda: syscall(250, 219, 0, -3, 0))
    probe("handle page faults of the kernel")(lambda: syscall(323, 282, 0))
    probe("open a file by its handle")(
        lambda: syscall(304, 265, -100, ctypes.create_string_buffer(b"\x08", 24), 0)
    )
    probe("load a kernel module")(lambda: syscall(175, 105, b"", 0, b""))
    probe("load another kernel")(lambda: syscall(246, 104, 0, 0, 0, 0))
    probe("set the clock")(lambda: syscall(227, 112, 0, (ctypes.c_long * 2)(0, 0)))
    probe("restart the machine")(lambda: syscall(169, 142, 0xFEE1DEAD, 672274793, 0))
    probe("rename the machine")(lambda: socket.sethostname("hostile"))
    probe("use a call of the 32-bit interface")(x32_call)
    probe("make a device")(lambda: os.mknod("disk", 0o600 | 0o060000, os.makedev(8, 0)))
    probe("join a control group")(
        lambda: nothing_found(glob.glob("/sys/fs/cgroup/**/cgroup.procs", recursive=True))
    )
    probe("read the kernel's debug files")(lambda: nothing_found(os.listdir("/sys/kernel/debug")))


def clone_user_namespace() -> object:
    pid = syscall(56, 220, 0x10000000 | int(signal.SIGCHLD), 0, 0, 0, 0)
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    return "cloned"


def x32_call() -> object:
    if not _X86:
        raise Stopped("this machine has no such interface")
    return syscall(0x40000000 + 39, 0)


def described_privileges(given: Mapping[str, object]) -> None:
    probe("become root")(lambda: os.setuid(0))
    probe("join a group of root")(lambda: os.setgroups([0]))
    probe("have capabilities")(capabilities)
    probe("open more files than allowed")(lambda: raise_limit(resource.RLIMIT_NOFILE))
    probe("start more processes than allowed")(fork_many)
    probe("write a larger file than allowed")(lambda: write_large(int(str(given["run_bytes"]))))
    probe("allocate more memory than allowed")(lambda: hoard(int(str(given["memory_bytes"]))))
    probe("fill /dev/shm beyond its limit")(lambda: fill_shm(int(str(given["shm_bytes"]))))


def capabilities() -> object:
    lines = [
        line.split() for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("Cap")
    ]
    return nothing_found([name for name, value in lines if int(value, 16)])


def raise_limit(number: int) -> object:
    _, hard = resource.getrlimit(number)
    resource.setrlimit(number, (hard + 1, hard + 1))
    return hard + 1


def fork_many() -> object:
    children = []
    try:
        for _ in range(3000):
            pid = os.fork()
            if pid == 0:
                signal.pause()
            children.append(pid)
    finally:
        for pid in children:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
    return f"{len(children)} processes"


def write_large(limit: int) -> object:
    with open("/tmp/large", "wb") as file:
        file.truncate(limit + 2**20)
    return "written"


def hoard(limit: int) -> object:
    script = f"held = bytearray({limit} * 2)\nfor at in range(0, len(held), 4096): held[at] = 1\n"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=60, check=False)
    if ran.returncode:
        raise Stopped(f"the process ended with {ran.returncode}")
    return "allocated"


def fill_shm(limit: int) -> object:
    block = array.array("b", bytes(2**20)).tobytes()
    try:
        with open("/dev/shm/fill", "wb") as file:
            file.writelines(block for _ in range(limit // 2**20 + 8))
    finally:
        if os.path.exists("/dev/shm/fill"):
            os.unlink("/dev/shm/fill")
    return "filled"


if __name__ == "__main__":
    main()
