# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The rows of the table of scripts/bench: how each figure follows from its runs, and its bar.

scripts/bench writes the runs of a figure as one JSON object. It has one of these forms:

  {"id": ID, "pairs": [{"ours": VALUE, "peer": VALUE}, ...]}
  {"id": ID, "rounds": [{NAME: VALUE, ...}, ...]}     several peers; NAME "ours" is our tool
  {"id": ID, KEY: {...}}                              one measurement, see Row.special

With --beside, each pair and each round also has the value "other", of the other build. One
measurement without pairs has "other" beside its KEY, with the whole object of the other build.
"""

import statistics

AT_LEAST, AT_MOST = ">=", "<="
# M/s: a million messages of 64 octets a second, from a rate in bits per second.
SCALES = {"Gb/s": 1e9, "Mb/s": 1e6, "M/s": 512e6, "us": 1e3, "KiB": 1024}  # of a unit; default 1


class Row:
    """One row. bar: None if the row has no bar. value: the key of a run's value. runs: the id of
    the runs, default that of the row. wanted: the id for --only, default that of the runs. ours,
    peers: names in rounds; the peer with the best median is used, and named in `what` as {peer}.
    constant: a fixed value in place of the peer's. special: a function from the runs to a dict
    with ours, peer, ratio, ratio_min and ratio_max, for runs without pairs."""

    def __init__(self, name, what, unit, sign, bar, value=None, *, runs=None, wanted=None,
                 ours="ours", peers=(), constant=None, special=None):
        self.id = name
        self.what = what
        self.unit = unit
        self.sign = sign
        self.bar = bar
        self.value = value
        self.runs = runs or name
        self.wanted = wanted or self.runs
        self.ours = ours
        self.peers = peers
        self.constant = constant
        self.special = special


def rate(name, what, bar, **more):
    return Row(name, what, "Gb/s", AT_LEAST, bar, "bits_per_second", **more)


def seconds(name, what, bar, **more):
    return Row(name, what, "s", AT_MOST, bar, "seconds", **more)


def latency(name, what, bar):
    return Row(name, what, "us", AT_MOST, bar, "p50_ns")


# --- runs without pairs --------------------------------------------------------------------------

def single(ours, peer, ratio=None):
    ratio = ours / peer if ratio is None else ratio
    return {"ours": ours, "peer": peer, "ratio": ratio, "ratio_min": ratio, "ratio_max": ratio}


def idle(limit):
    return lambda run: {"held": run["idle"]["held"], **single(run["idle"]["each"], limit)}


def smaller_share(run):
    values = [share(pair) for pair in run["pairs"]]
    for value, pair in zip(values, run["pairs"]):
        if "other" in pair:
            value["other"] = share(pair["other"])["ours"]
    return {**summary(values), "values": values}


def share(pair):
    ours, peer = pair["ours"]["bits_per_second"], pair["peer"]["bits_per_second"]
    return {"ours": ours, "peer": peer, "ratio": min(ours, peer) / (ours + peer)}


def late_sequences(run):
    ours, peer = run["sequences"]["ours"], run["sequences"]["peer"]
    complete = all(one["delivered"] == one["posted"] for one in (ours, peer))
    return {**single(ours["late"], peer["late"]),
            "pass": complete and ours["late"] == 1 and peer["late"] == 8}


def beside_bare(run):
    xdp = run["xdp"]
    return {"ours": xdp["bits_per_second"], "peer": xdp["bare_bits_per_second"],
            **{key: xdp[key] for key in ("ratio", "ratio_min", "ratio_max")}}


def fairness(run):
    values = [pair["ours"]["fairness"] for pair in run["pairs"]]
    return {**single(min(values), 1), "ratio_max": max(values)}


def look_up(run):
    stag = run["stag"]
    return {"ours": stag["segment_of_1000000_ns"], "peer": stag["segment_of_1000_ns"],
            **{key: stag[key] for key in ("ratio", "ratio_min", "ratio_max")}}


# --- all rows, in the order of the table ---------------------------------------------------------

SSH_PEERS = ("scp", "rsync")
ROWS = (
    rate("P1", "tcp, RDMA Write, large FPDUs / iperf3, veth", 1.2),
    rate("P1lo", "as P1, on loopback", 1.1),
    rate("P1a", "as P1, with --mulpdu emss", 0.95),
    rate("P2", "tcp, RDMA Read, large FPDUs / iperf3, veth", 1.2),
    rate("P3", "udp, RDMA Write / iperf3 over TCP, veth", 1.0),
    rate("P3m", "as P3, with an MTU of 9000", None),
    rate("P3j", "as P3, with -j 2 / iperf3 -P 2", None),
    rate("P3s", "as P3, with 8 streams of one association", None),
    rate("P3u", "as P3 / usrsctp over UDP, where it is fastest", 15),
    rate("P4", "raw, RDMA Write / usrsctp on raw IP, veth", 10),
    latency("P8", "64-octet ping-pong, p50: we poll / sockperf sleeps", 1.05),
    latency("P8awake", "as P8, with the cores awake", 1.05),
    latency("P9", "64-octet ping-pong, p50, udp: we poll / sockperf sleeps", 1.10),
    Row("P10", "CPU seconds per GiB, both ends, tcp / iperf3", "s/GiB", AT_MOST, 0.8,
        "cpu_seconds_per_gib", runs="P1", wanted="P10"),
    rate("P7", "a file, tmpfs to tmpfs, digest on / the fastest", 1.2),
    seconds("P13", "many files of 4 KiB / tar through nc, time", 0.8),
    Row("P12", "{held} idle connections of ddp-recv, each / 24 KiB", "KiB", AT_MOST, 1.0,
        special=idle(24 << 10)),
    Row("P12u", "{held} idle associations of ddp-recv, each / 48 KiB", "KiB", AT_MOST, 1.0,
        special=idle(48 << 10)),
    Row("P14", "64-octet Sends, verified, tcp / iperf3 -l 64", "M/s", AT_LEAST, 10,
        "bits_per_second"),
    Row("P14u", "as P14, over udp", "M/s", AT_LEAST, 9, "bits_per_second"),
    Row("P15", "connections used once, tcp / bare connect, accept", "/s", AT_LEAST, 0.6,
        "per_second"),
    Row("P15u", "associations over udp / sessions on one", "/s", AT_LEAST, None, "per_second"),
    rate("P16", "1,000 connections, tcp / one", 0.8),
    Row("P16f", "as P16: Jain's index of the 1,000", "", AT_LEAST, 0.9, runs="P16",
        wanted="P16", special=fairness),
    rate("P16m", "as P16, the one with 64 MiB in flight", None),
    rate("P30", "tcp with TLS, RDMA Write / {peer}, veth", 1.3, peers=("socat", "s_client")),
    rate("P30p", "as P30 / without TLS", 0.35, runs="P30", peers=("plain",)),
    rate("P31", "udp with DTLS, RDMA Write / 8 Gb/s, veth", 1.0, constant=8e9),
    rate("P31p", "as P31 / without DTLS", 0.25, runs="P31", peers=("plain",)),
    seconds("P32", "a file started by ssh / {peer}, time", 0.5, peers=SSH_PEERS),
    seconds("P32m", "many files of 4 KiB by ssh / {peer}, time", 0.7, peers=SSH_PEERS),
    Row("P33", "connections a second, TLS / openssl s_time -new", "/s", AT_LEAST, 0.8,
        "per_second", peers=("s_time",)),
    Row("P33p", "as P33 / without TLS", "/s", AT_LEAST, None, "per_second", runs="P33",
        peers=("plain",)),
    Row("L1", "1 % loss, 20 ms: udp, RDMA Write / TCP, cubic", "Mb/s", AT_LEAST, 1.3,
        "bits_per_second"),
    Row("L1b", "1 % loss, 20 ms: udp, --cc bbr / TCP, bbr", "Mb/s", AT_LEAST, 0.9,
        "bits_per_second", peers=("bbr",)),
    Row("L1c", "as L1b / TCP, cubic", "Mb/s", AT_LEAST, 5, "bits_per_second", runs="L1b",
        peers=("cubic",)),
    Row("L2", "udp and TCP through 50 Mb/s: the smaller share", "Mb/s", AT_LEAST, 0.33,
        special=smaller_share),
    Row("L2b", "as L2, with --cc bbr", "Mb/s", AT_LEAST, 0.33, special=smaller_share),
    Row("L3", "one packet lost: sequences late, udp streams / TCP", "of 8", AT_MOST, 0.125,
        special=late_sequences),
    seconds("L4", "200 MiB, 200 Mb/s, 60 ms, 0.5 % loss / scp, cubic", 0.4, peers=("scp_cubic",)),
    seconds("L4b", "as L4 / {peer}, time", 1.1, runs="L4",
            peers=("scp_bbr", "rsync_bbr", "iperf_bbr")),
    rate("P5", "xdp, RDMA Write / bare AF_XDP, veth", 1.0, special=beside_bare),
    rate("P5m", "as P5, frames of several buffers", 1.0, special=beside_bare),
    rate("P6", "generated segments placed / received", 0.9, special=beside_bare),
    rate("P6m", "as P6, frames of several buffers", 0.9, special=beside_bare),
    Row("P11", "1,448-octet segment, 1,000,000 STags / 1,000", "ns", AT_MOST, 1.3,
        special=look_up),
)
VARIABLE = {row.id for row in ROWS if "{" in row.what}  # their text depends on the run


def figures(runs, wanted):
    """Returns the figures, as dicts, of all rows that have runs and that --only names."""
    by_id = {run["id"]: run for run in runs}
    return [figure(row, by_id[row.runs]) for row in ROWS
            if row.runs in by_id and row.wanted in wanted]


def figure(row, run):
    result = {"id": row.id, "what": row.what, "unit": row.unit, "sign": row.sign, "bar": row.bar}
    result.update(of_special(row, run) if row.special else of_pairs(row, run))
    result["what"] = row.what.format(peer=peer_text(result.pop("peer_name", "")),
                                     held=result.pop("held", ""))
    if "pass" not in result:
        result["pass"] = reaches(result["ratio"], row.sign, row.bar)
    if result.get("ours_ended") and row.bar is not None:
        result["pass"] = False  # its true time is not known
    return result


def peer_text(name):
    """Returns the name of a peer for a reader: scp_bbr is scp with the congestion control bbr."""
    program, _, cc = name.partition("_")
    return f"{'iperf3 -F' if program == 'iperf' else program}, {cc}" if cc in ("cubic", "bbr") \
        else name


def of_special(row, run):
    result = row.special(run)
    if "pairs" not in run and "other" in run:
        other = row.special(run["other"])["ours"]
        result.update(beside_other([{"ours": result["ours"], "other": other}]))
    return result


def reaches(ratio, sign, bar):
    """Returns None if there is no bar."""
    if bar is None:
        return None
    return ratio >= bar if sign == AT_LEAST else ratio <= bar


def of_pairs(row, run):
    name = best_peer(row, run)
    values = [one_value(row, each, name) for each in run.get("pairs") or run["rounds"]]
    result = {**summary(values), **cpu_seconds(row, run, name), "peer_name": name}
    return {**result, **ended(row, run, name), "values": values}


def ended(row, run, peer):
    """Returns in how many runs ours and the peer were ended at their time limit."""
    counts = {key: sum(each.get(name, {}).get("ended", False)
                       for each in run.get("pairs") or run["rounds"])
              for key, name in (("ours_ended", row.ours), ("peer_ended", peer))}
    return {key: count for key, count in counts.items() if count}


def cpu_seconds(row, run, peer):
    """Returns the medians of the CPU seconds per GiB, for runs that moved files."""
    both = [(each[row.ours], row.constant or each[peer])
            for each in run.get("pairs") or run["rounds"]]
    if not all(isinstance(one, dict) and "cpu_seconds" in one for pair in both for one in pair):
        return {}
    ours, theirs = (statistics.median(one["cpu_seconds_per_gib"] for one in side)
                    for side in zip(*both))
    return {"cpu_seconds_per_gib": {"ours": ours, "peer": theirs}}


def best_peer(row, run):
    """Returns the name of the peer with the best median, or that of the only one."""
    if len(row.peers) < 2:
        return row.peers[0] if row.peers else "peer"
    medians = {name: statistics.median(each[name][row.value] for each in run["rounds"])
               for name in row.peers}
    return (max if row.sign == AT_LEAST else min)(medians, key=medians.get)


def one_value(row, each, peer):
    ours = each[row.ours][row.value]
    value = {"ours": ours, "peer": row.constant or each[peer][row.value]}
    value["ratio"] = ours / value["peer"]
    if row.ours == "ours" and "other" in each:
        value["other"] = each["other"][row.value]
    return value


def summary(values):
    """Returns the medians of the pairs, and the range of their ratios."""
    ratios = [value["ratio"] for value in values]
    return {"ours": statistics.median(value["ours"] for value in values),
            "peer": statistics.median(value["peer"] for value in values),
            "ratio": statistics.median(ratios), "ratio_min": min(ratios), "ratio_max": max(ratios),
            **beside_other(values)}


def beside_other(values):
    """Returns the median of the other build, and the ratios of ours to it; {} unless all values
    have it."""
    if not all("other" in value for value in values):
        return {}
    ratios = [value["ours"] / value["other"] for value in values]
    return {"other": statistics.median(value["other"] for value in values),
            "other_ratio": statistics.median(ratios), "other_ratio_min": min(ratios),
            "other_ratio_max": max(ratios)}


def scale(figure_):
    return SCALES.get(figure_["unit"], 1)
