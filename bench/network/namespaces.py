"""Two racks of machines inside this one: network namespaces, joined by links of limited speed.

A worker's machine is a namespace with one connection, a rack's switch is a namespace with a bridge, and one more
connection joins the two switches: the uplink. What goes over them is the kernel's TCP, shaped by token buckets (tc tbf)
in either direction. Names carry the number of the process that made them, so that a later one can tell whether it is
still there. Needs root; nothing leads out of these namespaces.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess

RACKS = 2
WORKERS_PER_RACK = 4
WORKERS = RACKS * WORKERS_PER_RACK
NIC_MBIT = 200   # 500 would cost so much of two processors that steps take 4 % longer, 1000 10 %.
DEVICE = "eth0"  # Of every worker.
PREFIX = "huddle-lab"

# A bucket must hold more than one unit of segmentation (64 kB), which passes as a whole then. What waits for it is
# never so much that something is lost, because the window of each connection is small: after a loss one connection
# of several on the uplink stays slow for a while, and its worker late, which is chance and no property of a strategy.
# Congestion control is named by the route, because only the first namespace may choose the usual one: where that is
# BBR, it looks for bandwidth all the time and is slower by some percent.
SHAPE = "tbf rate {mbit:.3f}mbit burst 128kb limit 4000kb"
ROUTE = f"congctl cubic window {384 << 10}"

# After a rest TCP would begin slowly. Without receive packet steering the two directions of a connection are worked on
# by different processors, which reorders packets, and TCP takes that for losses.
SETTINGS = """
echo 0 > /proc/sys/net/ipv4/tcp_slow_start_after_idle
for each in /sys/class/net/*/queues/rx-*/rps_cpus; do echo {processors:x} > $each; done
"""


class Impossible(Exception):
    """The lab cannot be had here, for the reason given."""


def command(arguments, lines=()):
    """What a command prints; `lines` are its standard input. Raises RuntimeError with what it complains about."""
    answer = subprocess.run(arguments, input="\n".join(lines), capture_output=True, text=True, check=False,
                            start_new_session=True)  # Ctrl-C is for the lab alone, which has to clean up.
    if answer.returncode != 0:
        raise RuntimeError(f"{' '.join(arguments)} failed: {answer.stderr.strip()}")
    return answer.stdout


def namespaces():
    """Those of all labs, as pairs of a process and a name."""
    names = [line.split()[0] for line in command(["ip", "netns", "list"]).splitlines()]
    return [(int(found[1]), name) for name in names if (found := re.match(rf"{PREFIX}-(\d+)-", name))]


def remove(process):
    """All that this process has made, and with it all links."""
    for owner, name in namespaces():
        if owner == process:
            command(["ip", "netns", "del", name])


def remove_stale():
    """What labs have left that were killed."""
    for owner in {owner for owner, _ in namespaces()}:
        if not pathlib.Path(f"/proc/{owner}").exists():
            remove(owner)


def check_possible():
    if os.geteuid() != 0:
        raise Impossible("network namespaces need root")
    for program in ("ip", "tc"):
        if shutil.which(program) is None:
            raise Impossible(f"there is no program '{program}' (Debian: iproute2)")


def shape(name, devices, mbit):
    """What these devices send, from now on."""
    command(["tc", "-n", name, "-batch", "-"],
            [f"qdisc replace dev {device} root {SHAPE.format(mbit=mbit)}" for device in devices])


class Network:
    """For a `with`: made at its beginning, gone at its end. Raises Impossible where that is not permitted."""

    def __init__(self):
        own = f"{PREFIX}-{os.getpid()}"
        self.workers = [f"{own}-worker{worker}" for worker in range(WORKERS)]
        self.switches = [f"{own}-rack{rack}" for rack in range(RACKS)]

    def __enter__(self):
        check_possible()
        remove_stale()
        try:
            self.make()
        except RuntimeError as error:
            remove(os.getpid())
            raise Impossible(f"such a network is not permitted here: {error}") from error
        return self

    def __exit__(self, *_):
        remove(os.getpid())

    def make(self):
        command(["ip", "-batch", "-"], [f"netns add {name}" for name in self.switches + self.workers])
        command(["ip", "-n", self.switches[0], "-batch", "-"],
                [f"link add uplink type veth peer name uplink netns {self.switches[1]}"])
        for rack, switch in enumerate(self.switches):
            self.make_rack(switch, range(rack * WORKERS_PER_RACK, (rack + 1) * WORKERS_PER_RACK))
        processors = (1 << min(os.cpu_count(), 32)) - 1
        for name in self.switches + self.workers:
            command(["ip", "netns", "exec", name, "sh", "-ec", SETTINGS.format(processors=processors)])

    def make_rack(self, switch, workers):
        ports = [f"port{worker}" for worker in workers]
        command(["ip", "-n", switch, "-batch", "-"],
                ["link add bridge type bridge", "link set bridge up", "link set uplink master bridge up"]
                + [f"link add port{worker} type veth peer name {DEVICE} netns {self.workers[worker]}"
                   for worker in workers] + [f"link set {port} master bridge up" for port in ports])
        shape(switch, ports, NIC_MBIT)
        for worker in workers:
            command(["ip", "-n", self.workers[worker], "-batch", "-"],
                    ["link set lo up", f"link set {DEVICE} up", f"addr add {self.address(worker)}/24 dev {DEVICE}",
                     f"route replace 10.87.0.0/24 dev {DEVICE} src {self.address(worker)} {ROUTE}"])
            shape(self.workers[worker], [DEVICE], NIC_MBIT)

    @staticmethod
    def address(worker):
        return f"10.87.0.{worker + 1}"

    def set_uplink(self, mbit):
        for switch in self.switches:
            shape(switch, ["uplink"], mbit)

    def uplink_bytes(self):
        """What has left each rack since the beginning."""
        told = [json.loads(command(["ip", "-n", switch, "-s", "-j", "link", "show", "dev", "uplink"]))
                for switch in self.switches]
        return [links[0]["stats64"]["tx"]["bytes"] for links in told]

    def on(self, worker):
        """What a command begins with that is to run on the machine of this worker."""
        return ["ip", "netns", "exec", self.workers[worker]]
