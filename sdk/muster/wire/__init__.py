"""The socket protocol between a rank and its worker, and between the worker and its warm parent.

A frame is four bytes of length (big-endian) and a JSON object whose `t` names the message. Both ends of a
machine carry the same SDK, yet the first frame names the protocol's version: a mismatch is refused in words.
Only the standard library is imported here: every rank pays for it.

A rank opens two connections to the same socket. On the first it sends numbered reports, without waking
anybody; on the second, the bell, it sends one byte when somebody should look: at most four times a second for
plain points, at once for a validation. So a report costs one system call, no thread, and survives a killed rank
in the kernel's buffer; frames not yet acknowledged are sent again after the worker's daemon was restarted.
"""

from muster.wire.codec import (
    MAX_FRAME_BYTES,
    Decoder,
    encode,
    read_trial_file,
    trial_file_text,
)
from muster.wire.disk import EXIT_DISK_FULL, disk_full, disk_full_text, is_disk_full, write_pid
from muster.wire.frames import (
    DAEMON_FRAMES,
    DECISION_WAIT_S,
    ENV_LOCAL_RANK,
    ENV_RANK,
    ENV_SLOT_PART,
    ENV_TOKEN,
    ENV_TRIAL,
    PARENT_FRAMES,
    RANK_FRAMES,
    VERSION,
    WORKER_FRAMES,
    Acknowledge,
    Checkpoint,
    Decided,
    Forget,
    Frame,
    Greeting,
    Hello,
    Journaled,
    Json,
    Kill,
    Launch,
    Measured,
    OpenRendezvous,
    Point,
    Process,
    Quit,
    Ready,
    Refused,
    Signalled,
    Started,
    TrialFile,
    Welcome,
)
from muster.wire.invalid import EXIT_INVALID, invalid_text, read_invalid
from muster.wire.sockets import connect, expect, listen, receive

__all__ = [
    "DAEMON_FRAMES",
    "DECISION_WAIT_S",
    "ENV_LOCAL_RANK",
    "ENV_RANK",
    "ENV_SLOT_PART",
    "ENV_TOKEN",
    "ENV_TRIAL",
    "EXIT_DISK_FULL",
    "EXIT_INVALID",
    "MAX_FRAME_BYTES",
    "PARENT_FRAMES",
    "RANK_FRAMES",
    "VERSION",
    "WORKER_FRAMES",
    "Acknowledge",
    "Checkpoint",
    "Decided",
    "Decoder",
    "Forget",
    "Frame",
    "Greeting",
    "Hello",
    "Journaled",
    "Json",
    "Kill",
    "Launch",
    "Measured",
    "OpenRendezvous",
    "Point",
    "Process",
    "Quit",
    "Ready",
    "Refused",
    "Signalled",
    "Started",
    "TrialFile",
    "Welcome",
    "connect",
    "disk_full",
    "disk_full_text",
    "encode",
    "expect",
    "invalid_text",
    "is_disk_full",
    "listen",
    "read_invalid",
    "read_trial_file",
    "receive",
    "trial_file_text",
    "write_pid",
]
