// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* --doctor: the checks, and their two writers. */
#include "cli/doctor.h"

#include <assert.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <stdarg.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/config.h"
#include "cli/confine.h"
#include "cli/human.h"
#include "cli/table.h"
#include "cli/term.h"
#include "llp/llp.h"
#include "loader/attach.h"
#include "loader/interface.h"
#include "loader/steer.h"
#include "os/cc.h"
#include "os/probe.h"
#include "os/sock.h"
#include "util/num.h"
#include "wire/crc32c.h"

#define BPF_FS_MAGIC_ 0xcafe4a11 /* missing in older versions of linux/magic.h */
#define MIB           (UINT64_C(1) << 20)

/*
 * Values below these give a warning: a few hundred connections and the rings of -t xdp need them.
 */
#define MEMLOCK_WANTED (64 * MIB)
#define BUFFER_WANTED  (4 * MIB)
#define NOFILE_WANTED  4096

static struct iw_check *add(struct iw_doctor *d, const char *subject, enum iw_verdict verdict)
{
	struct iw_check *c = &d->checks[d->n];

	assert(d->n < IW_DOCTOR_CHECKS);
	d->n++;
	snprintf(c->subject, sizeof(c->subject), "%s", subject);
	c->verdict = verdict;
	return c;
}

__attribute__((format(printf, 2, 3))) static void seen(struct iw_check *c, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(c->seen, sizeof(c->seen), fmt, ap);
	va_end(ap);
}

__attribute__((format(printf, 2, 3))) static void advise(struct iw_check *c, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(c->advice, sizeof(c->advice), fmt, ap);
	va_end(ap);
}

/* The text of the fault without the subject at its beginning, which has a column of its own. */
static const char *reason(const struct iw_fault *why, const char *subject)
{
	size_t len = strlen(subject);

	if (strncmp(why->text, subject, len) == 0 && strncmp(why->text + len, ": ", 2) == 0)
		return why->text + len + 2;
	return why->text[0] ? why->text : iw_err_text(why->err);
}

/* Returns 0 if the transport can run here. -t xdp also needs its program. */
static int can_run(const char *transport, struct iw_fault *why)
{
	int err = iw_llp_look(transport, why);
	uint32_t insns;

	return err || strcmp(transport, "xdp") != 0 ? err : iw_steer_try(&insns, why);
}

static bool uses(const struct iw_cli *cli, const char *transport)
{
	for (const char *const *name = cli->transports; *name; name++)
		if (strcmp(*name, transport) == 0)
			return true;
	return false;
}

static void check_transports(struct iw_doctor *d, const struct iw_cli *cli)
{
	for (const char *const *name = cli->transports; *name; name++) {
		struct iw_fault why = { 0 };
		char subject[24];
		int err = can_run(*name, &why);

		snprintf(subject, sizeof(subject), "transport %s", *name);
		seen(add(d, subject, err < 0 ? IW_VERDICT_NO : IW_VERDICT_OK), "%s",
		     err ? reason(&why, subject) : "ready");
		if (strcmp(*name, cli->transport) == 0)
			d->can_run = err >= 0;
	}
}

static void check_kernel(struct iw_doctor *d)
{
	struct utsname u;

	if (uname(&u) == 0)
		seen(add(d, "kernel", IW_VERDICT_OK), "%s %s, %s", u.sysname, u.release, u.machine);
}

bool iw_doctor_probe(struct iw_doctor *d, const char *subject, int (*probe)(struct iw_fault *),
		     const char *advice)
{
	struct iw_fault why = { 0 };
	int err = probe(&why);
	struct iw_check *c = add(d, subject, err < 0 ? IW_VERDICT_NO : IW_VERDICT_OK);

	seen(c, "%s", err ? reason(&why, subject) : "available");
	if (err == IW_E_PERM)
		advise(c, "run as root, or: setcap cap_net_raw+ep \"$(command -v %s)\"", d->tool);
	else if (err == IW_E_NOTSUP && advice)
		advise(c, "%s", advice);
	return err >= 0;
}

/* Features of the kernel that the transports need. */
static void check_features(struct iw_doctor *d, const struct iw_cli *cli)
{
	static const struct {
		const char *transport, *subject;
		int (*probe)(struct iw_fault *why);
		const char *advice;
	} features[] = {
		{ "sctp", "kernel SCTP", iw_os_look_sctp,
		  "modprobe sctp, if the kernel has the module" },
		{ "raw", "raw IP sockets", iw_os_probe_raw, "use a kernel with IPv4" },
		{ "xdp", "AF_XDP sockets", iw_os_probe_xdp,
		  "use a kernel with CONFIG_XDP_SOCKETS" },
		{ "udp", "UDP segmentation offload", iw_os_probe_udp_gso,
		  "use Linux 5.0 or later" },
	};

	for (size_t i = 0; i < IW_ARRAY_LEN(features); i++)
		if (uses(cli, features[i].transport))
			iw_doctor_probe(d, features[i].subject, features[i].probe,
					features[i].advice);
}

static void check_bpf(struct iw_doctor *d)
{
	bool can = iw_os_has_cap(CAP_SYS_ADMIN) ||
		   (iw_os_has_cap(CAP_BPF) && iw_os_has_cap(CAP_NET_ADMIN));
	bool btf = access("/sys/kernel/btf/vmlinux", R_OK) == 0;
	struct iw_check *c = add(d, "BPF programs", can && btf ? IW_VERDICT_OK : IW_VERDICT_NO);
	struct statfs fs;

	seen(c, "%s, %s", can ? "can be loaded" : "need CAP_BPF and CAP_NET_ADMIN",
	     btf ? "kernel has BTF" : "kernel has no BTF");
	if (!can)
		advise(c, "run as root");
	else if (!btf)
		advise(c, "use a kernel with CONFIG_DEBUG_INFO_BTF");
	can = statfs("/sys/fs/bpf", &fs) == 0 && (uint32_t)fs.f_type == BPF_FS_MAGIC_;
	c = add(d, "BPF file system", can ? IW_VERDICT_OK : IW_VERDICT_WARN);
	seen(c, "%s",
	     can ? "mounted"
		 : "not mounted: an interface cannot be shared with other XDP programs");
	if (!can)
		advise(c, "mount -t bpf bpf /sys/fs/bpf");
}

static void check_program(struct iw_doctor *d)
{
	struct iw_fault why = { 0 };
	uint32_t insns;
	int err = iw_steer_try(&insns, &why);
	struct iw_check *c = add(d, "steering program", err ? IW_VERDICT_NO : IW_VERDICT_OK);

	if (err)
		seen(c, "%s", reason(&why, "xdp"));
	else
		seen(c, "loads, %" PRIu32 " instructions verified", insns);
	if (err == IW_E_PERM)
		advise(c, "run as root");
	err = iw_attach_check_dispatcher(&why);
	c = add(d, "XDP dispatcher", err ? IW_VERDICT_WARN : IW_VERDICT_OK);
	seen(c, "%s", err ? reason(&why, "xdp") : "programs can share an interface");
}

static const char *with_or_no(bool has)
{
	return has ? "with" : "no";
}

/* For -t xdp, the interface must have no program of another origin. */
static void check_interface(struct iw_doctor *d, const char *name)
{
	struct iw_xdp_attached a = { .program = 0 };
	struct iw_fault why = { 0 };
	struct iw_xdp_driver can;
	struct iw_check *c;
	char subject[32];
	unsigned ifindex;
	int err = iw_interface_index(&ifindex, name, &why);
	bool reported, ours;
	unsigned queues;

	snprintf(subject, sizeof(subject), "interface %s", name);
	if (!err)
		err = iw_attach_query(&a, ifindex, &why);
	if (err) {
		seen(add(d, subject, IW_VERDICT_NO), "%s", reason(&why, subject));
		d->can_run = d->can_run && strcmp(d->transport, "xdp") != 0;
		return;
	}
	reported = iw_interface_driver(&can, ifindex);
	queues = iw_interface_queues(name);
	ours = a.program == 0 || a.owner == IW_XDP_STEER || a.inside;
	c = add(d, subject, !ours ? IW_VERDICT_NO : can.native ? IW_VERDICT_OK : IW_VERDICT_WARN);
	if (!ours) {
		seen(c, "another program is attached already: %s (id %u)", a.name, a.program);
		if (a.owner == IW_XDP_UNKNOWN)
			advise(c, "be root to see which program it is");
		else
			advise(c, "ddp-xdp detach -I %s%s", name,
			       a.owner == IW_XDP_FOREIGN || a.owner == IW_XDP_DISPATCHER
				       ? " --force-clean"
				       : "");
		d->can_run = d->can_run && strcmp(d->transport, "xdp") != 0;
	} else if (!reported) {
		seen(c,
		     "%u queue%s; this kernel does not report the XDP features of the driver (Linux 6.3 does)",
		     queues, queues == 1 ? "" : "s");
	} else if (!can.native) {
		seen(c, "%u queue%s; the driver has no native XDP: generic mode, which is slower",
		     queues, queues == 1 ? "" : "s");
	} else {
		seen(c, "%u queue%s; native XDP, %s frames of several buffers, %s zero-copy",
		     queues, queues == 1 ? "" : "s", with_or_no(can.multi_buffer),
		     with_or_no(can.zerocopy));
	}
}

static void check_memlock(struct iw_doctor *d)
{
	uint64_t soft, hard;
	struct iw_check *c;
	char a[IW_HUMAN_TEXT];
	bool enough;

	iw_os_memlock(&soft, &hard);
	enough = soft >= MEMLOCK_WANTED || iw_os_has_cap(CAP_IPC_LOCK);
	c = add(d, "locked memory", enough ? IW_VERDICT_OK : IW_VERDICT_WARN);
	seen(c, "%s%s", soft == UINT64_MAX ? "no limit" : iw_human_size(a, soft),
	     soft < MEMLOCK_WANTED && enough ? ", but CAP_IPC_LOCK lifts the limit" : "");
	if (!enough)
		advise(c, "%s",
		       hard == UINT64_MAX
			       ? "ulimit -l unlimited"
			       : "as root: prlimit --memlock=unlimited --pid $$, or memlock in "
				 "/etc/security/limits.conf");
}

static void check_nofile(struct iw_doctor *d)
{
	uint64_t soft, hard;
	struct iw_check *c;

	iw_os_nofile(&soft, &hard);
	c = add(d, "open files", soft >= NOFILE_WANTED ? IW_VERDICT_OK : IW_VERDICT_WARN);
	if (soft == UINT64_MAX)
		seen(c, "no limit");
	else
		seen(c, "%" PRIu64 " at once", soft);
	if (soft < NOFILE_WANTED)
		advise(c, "ulimit -n %" PRIu64, hard < 65536 ? hard : 65536);
}

static void check_buffer(struct iw_doctor *d, const char *subject, const char *max_name,
			 const char *dotted, const char *tcp_name)
{
	char a[IW_HUMAN_TEXT], b[IW_HUMAN_TEXT], tcp[80], tuning[80] = "";
	uint64_t max, tcp_min, tcp_max;
	struct iw_fault why = { 0 };
	struct iw_check *c;
	bool enough;

	if (iw_os_sysctl_u64(&max, max_name, &why) != 0) {
		/* Inside some containers these are hidden; then they cannot be changed either. */
		seen(add(d, subject, IW_VERDICT_WARN), "%s", why.text);
		return;
	}
	if (iw_os_sysctl(tcp, sizeof(tcp), tcp_name, NULL) == 0 &&
	    sscanf(tcp, "%" SCNu64 " %*u %" SCNu64, &tcp_min, &tcp_max) == 2)
		snprintf(tuning, sizeof(tuning), "; TCP adjusts its own from %s to %s",
			 iw_human_size(a, tcp_min), iw_human_size(b, tcp_max));
	enough = max >= BUFFER_WANTED || iw_os_has_cap(CAP_NET_ADMIN);
	c = add(d, subject, enough ? IW_VERDICT_OK : IW_VERDICT_WARN);
	seen(c, "at most %s on request%s", iw_human_size(a, max), tuning);
	if (!enough)
		advise(c, "sysctl -w %s=%" PRIu64, dotted, 4 * BUFFER_WANTED);
}

static void check_congestion_control(struct iw_doctor *d)
{
	char now[64], list[160];
	struct iw_fault why = { 0 };

	if (iw_os_sysctl(now, sizeof(now), "net/ipv4/tcp_congestion_control", &why) != 0)
		seen(add(d, "congestion control", IW_VERDICT_WARN), "%s", why.text);
	else
		seen(add(d, "congestion control", IW_VERDICT_OK), "default %s; available: %s", now,
		     iw_tcp_cc_list(list, sizeof(list)));
}

static void check_ipv6(struct iw_doctor *d)
{
	static const struct iw_sock_cfg plain;
	struct iw_fault why = { 0 };
	struct iw_addr a;
	int fd, err;

	err = iw_addr_parse(&a, "::1", 0);
	if (!err)
		err = iw_tcp_listen(&fd, &a, 1, &plain, &why);
	if (!err)
		close(fd);
	seen(add(d, "IPv6", err ? IW_VERDICT_WARN : IW_VERDICT_OK), "%s",
	     err ? why.text : "available");
}

static void check_clock(struct iw_doctor *d)
{
	static const char path[] =
		"/sys/devices/system/clocksource/clocksource0/current_clocksource";
	static const char *const slow[] = { "hpet", "acpi_pm", "pit", "jiffies" };
	struct timespec ts = { 0 };
	char source[64], res[IW_HUMAN_TEXT];
	bool is_slow = false;
	struct iw_check *c;

	if (iw_os_read_line(source, sizeof(source), path, NULL) != 0)
		snprintf(source, sizeof(source), "unknown source");
	for (size_t i = 0; i < sizeof(slow) / sizeof(slow[0]); i++)
		is_slow = is_slow || strcmp(source, slow[i]) == 0;
	clock_getres(CLOCK_MONOTONIC, &ts);
	c = add(d, "clock", is_slow ? IW_VERDICT_WARN : IW_VERDICT_OK);
	seen(c, "%s, resolution %s%s", source,
	     iw_human_latency(res, (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec),
	     is_slow ? ": slow to read" : "");
	if (is_slow)
		advise(c, "choose another one from /sys/devices/system/clocksource/clocksource0/"
			  "available_clocksource");
}

static void check_crc32c(struct iw_doctor *d)
{
	const struct iw_crc32c_engine *e;
	size_t n = iw_crc32c_engines(&e);
	char names[120] = "";
	int fast = 0;

	for (size_t i = 0; i < n; i++) {
		size_t len = strlen(names);

		if (!e[i].run)
			continue;
		snprintf(names + len, sizeof(names) - len, "%s%s", len ? " " : "", e[i].name);
		fast += strcmp(e[i].name, "table") != 0;
	}
	seen(add(d, "CRC32c", fast ? IW_VERDICT_OK : IW_VERDICT_WARN), "engines: %s%s", names,
	     fast ? "" : "; this processor has no CRC32c instruction, so it is slow");
}

static void check_user(struct iw_doctor *d, const struct iw_confine_state *s)
{
	struct iw_check *c = add(d, "user when confined", IW_VERDICT_OK);

	seen(c, "uid %" PRIu32 ", gid %" PRIu32, s->uid, s->gid);
	c = add(d, "capabilities kept", IW_VERDICT_OK);
	iw_confine_caps(c->seen, sizeof(c->seen), s->caps);
	c = add(d, "no new privileges", s->no_new_privs ? IW_VERDICT_OK : IW_VERDICT_WARN);
	seen(c, "%s", s->no_new_privs ? "in force" : "not in force");
}

static void check_limits(struct iw_doctor *d, const struct iw_confine_state *s)
{
	struct iw_check *c = add(d, "Landlock", s->landlock ? IW_VERDICT_OK : IW_VERDICT_WARN);

	if (s->landlock)
		seen(c, "in force, ABI %d", s->landlock);
	else
		seen(c, "not in force");
	if (!s->landlock && iw_landlock_abi() == 0)
		advise(c,
		       "use Linux 5.19 or later with CONFIG_SECURITY_LANDLOCK and landlock in its lsm= list");
	c = add(d, "system call filter", s->filtered ? IW_VERDICT_OK : IW_VERDICT_WARN);
	seen(c, "%s", s->filtered ? "in force" : "not in force");
	if (s->left_out[0])
		seen(add(d, "not given up", IW_VERDICT_WARN), "%.190s", s->left_out);
}

/* The privileges that the tool gives up before it reads from the network. */
static void check_confinement(struct iw_doctor *d, struct iw_cli *cli)
{
	struct iw_confine_state s;
	struct iw_fault why = { 0 };
	uint64_t caps = 0;
	unsigned how;

	if (!cli->confine)
		return;
	how = cli->confine(cli, &caps);
	if (iw_confine_try(&s, cli, how, caps, &why) != 0) {
		seen(add(d, "confinement", IW_VERDICT_NO), "%.190s", why.text);
		d->can_run = false;
		return;
	}
	check_user(d, &s);
	check_limits(d, &s);
}

/* The files from which the arguments were completed. */
static void check_config(struct iw_doctor *d, const struct iw_config *config)
{
	for (size_t i = 0; config && i < IW_CONFIG_FILES; i++) {
		const struct iw_config_file *f = &config->files[i];
		const char *subject = i == 0 ? "configuration, system" : "configuration, user";
		struct iw_check *c;

		if (!f->path[0])
			continue;
		c = add(d, subject, f->ignored ? IW_VERDICT_WARN : IW_VERDICT_OK);
		if (f->ignored)
			seen(c, "%.150s: ignored: built without inih", f->path);
		else if (f->present)
			seen(c, "%.150s: sets %u option%s here", f->path, f->used,
			     f->used == 1 ? "" : "s");
		else
			seen(c, "%.150s: does not exist", f->path);
	}
}

static void check_xdp(struct iw_doctor *d, const char *interface)
{
	check_bpf(d);
	check_program(d);
	if (interface)
		check_interface(d, interface);
	check_memlock(d);
}

static void check_network(struct iw_doctor *d)
{
	check_buffer(d, "receive buffer", "net/core/rmem_max", "net.core.rmem_max",
		     "net/ipv4/tcp_rmem");
	check_buffer(d, "send buffer", "net/core/wmem_max", "net.core.wmem_max",
		     "net/ipv4/tcp_wmem");
	check_congestion_control(d);
	check_ipv6(d);
}

void iw_doctor_examine(struct iw_doctor *d, struct iw_cli *cli)
{
	if (!cli->transports)
		cli->transports = iw_llp_names();
	*d = (struct iw_doctor){ .tool = cli->tool, .can_run = !cli->transports[0] };
	if (cli->transports[0])
		d->transport = cli->transport;
	check_transports(d, cli);
	check_kernel(d);
	check_features(d, cli);
	if (uses(cli, "xdp"))
		check_xdp(d, cli->interface);
	check_nofile(d);
	if (cli->transports[0])
		check_network(d);
	check_clock(d);
	check_crc32c(d);
	check_config(d, cli->config);
	check_confinement(d, cli);
	if (cli->doctor_needs)
		cli->doctor_needs(d);
}

static const char *verdict_name(enum iw_verdict v)
{
	switch (v) {
	case IW_VERDICT_OK:
		return "ok";
	case IW_VERDICT_WARN:
		return "warn";
	case IW_VERDICT_NO:
		return "no";
	}
	return "no";
}

static int write_human(const struct iw_doctor *d, FILE *f, unsigned int columns)
{
	struct iw_table t;
	int err;

	iw_table_init(&t, "lll");
	for (size_t i = 0; i < d->n; i++) {
		const struct iw_check *c = &d->checks[i];

		iw_table_add(&t, verdict_name(c->verdict));
		iw_table_add(&t, c->subject);
		iw_table_addf(&t, "%s%s%s", c->seen, c->advice[0] ? " -> " : "", c->advice);
	}
	err = iw_table_write(&t, f, columns);
	iw_table_fini(&t);
	if (!err)
		fprintf(f, "\n%s%s%s can%s run here.\n", d->tool, d->transport ? " -t " : "",
			d->transport ? d->transport : "", d->can_run ? "" : "not");
	return err;
}

static int write_json(const struct iw_doctor *d, struct iw_json *w)
{
	for (size_t i = 0; i < d->n; i++) {
		const struct iw_check *c = &d->checks[i];
		int err;

		iw_json_begin(w, "check");
		iw_json_str(w, "subject", c->subject);
		iw_json_str(w, "verdict", verdict_name(c->verdict));
		iw_json_str(w, "seen", c->seen);
		if (c->advice[0])
			iw_json_str(w, "advice", c->advice);
		err = iw_json_end(w);
		if (err)
			return err;
	}
	iw_json_begin(w, "result");
	iw_json_str(w, "tool", d->tool);
	if (d->transport)
		iw_json_str(w, "transport", d->transport);
	iw_json_bool(w, "can_run", d->can_run);
	return iw_json_end(w);
}

int iw_cli_doctor(struct iw_cli *cli, FILE *f)
{
	struct iw_doctor d;
	int err;

	iw_doctor_examine(&d, cli);
	if (cli->json)
		err = write_json(&d, &cli->out);
	else
		err = write_human(&d, f, iw_cli_columns(fileno(f)));
	if (err)
		return IW_EXIT_FAILED;
	return d.can_run ? IW_EXIT_OK : IW_EXIT_CANNOT;
}
