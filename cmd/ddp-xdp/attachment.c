// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Attaches a program and passes it to its holder: a process, a pin or a dispatcher. */
#include "ddp-xdp/attachment.h"

#include <errno.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/exit.h"
#include "cli/log.h"
#include "cli/signals.h"
#include "ddp-xdp/internal.h"
#include "loader/interface.h"
#include "os/os.h"
#include "os/priv.h"
#include "util/text.h"

const char *const iw_attachment_programs[] = { "steer", "mpa", NULL };
const char *const iw_attachment_holders[] = { "holder", "foreground", "pin", "dispatcher" };

static int attach_program(struct iw_attachment *k, const struct iw_attachment_cfg *cfg,
			  struct iw_fault *why)
{
	const struct iw_steer_cfg steer = {
		.interface = cfg->interface,
		.mode = cfg->mode,
		.assocs_max = cfg->associations,
		.stags_max = cfg->stags,
		.sample = cfg->sample,
		.alone = true,
		.dispatcher = cfg->holder == IW_HELD_BY_DISPATCHER,
	};
	int err;

	if (cfg->program == IW_ATTACHMENT_STEER) {
		err = iw_steer_open(&k->steer, &steer, why);
		k->link = err ? -1 : iw_steer_link_fd(k->steer);
	} else {
		err = iw_observe_open(&k->observe, cfg->interface, why);
		k->link = err ? -1 : iw_observe_link_fd(k->observe);
	}
	return err;
}

/*
 * Runs the background process. It keeps only the link open: the kernel detaches the program when
 * this process ends, and the process ends when the program was detached otherwise.
 */
_Noreturn static void hold(int link)
{
	static const int only = STDERR_FILENO + 1;
	struct iw_fault why;
	sigset_t none;

	(void)setsid();
	if (chdir("/") < 0 || !freopen("/dev/null", "r", stdin) ||
	    !freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr) ||
	    (link != only && dup2(link, only) < 0))
		_exit(IW_EXIT_FAILED);
	(void)close_range((unsigned)only + 1, ~0u, 0);
	signal(SIGTERM, SIG_DFL);
	signal(SIGINT, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	/* The process only waits, so it needs no capabilities. If it cannot drop them, it keeps
	 * them. */
	if (iw_os_priv_drop(&why) < 0)
		errno = 0;
	while (iw_attach_link_holds(only))
		(void)poll(NULL, 0, 1000);
	_exit(IW_EXIT_OK);
}

static int start_holder(struct iw_attachment *k, struct iw_fault *why)
{
	k->holder_pid = fork();
	if (k->holder_pid < 0)
		return iw_os_fail(why, errno, "start the background process");
	if (k->holder_pid == 0)
		hold(k->link);
	return 0;
}

static int pass_to_holder(struct iw_attachment *k, const struct iw_attachment_cfg *cfg,
			  struct iw_fault *why)
{
	switch (cfg->holder) {
	case IW_HELD_BY_PROCESS:
		return start_holder(k, why);
	case IW_HELD_BY_PIN:
		return iw_attach_pin(k->link, cfg->pins, cfg->interface, why);
	case IW_HELD_BY_FOREGROUND:
		k->holder_pid = getpid();
		return 0;
	case IW_HELD_BY_DISPATCHER:
		return 0;
	}
	return 0;
}

static void warn_of_leftovers(const char *name, unsigned ifindex, const char *pins)
{
	struct iw_xdp_attached a;

	if (iw_attach_query(&a, ifindex, NULL) == 0 &&
	    iw_attach_dispatchers_left(ifindex, a.program) > 0)
		iw_log_warn(
			"/sys/fs/bpf/xdp: leftovers of a former dispatcher of %s; remove them with "
			"`ddp-xdp detach -I %s --force-clean`",
			name, name);
	if (iw_attach_pinned(pins, name) == IW_XDP_STALE)
		iw_log_warn(
			"%s/%s: leftover pin of a link without a program; remove it with `ddp-xdp detach -I "
			"%s --force-clean`",
			pins, name, name);
}

static void warn_of_link(const char *name)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq r = { 0 };

	snprintf(r.ifr_name, sizeof(r.ifr_name), "%s", name);
	if (fd >= 0 && ioctl(fd, SIOCGIFHWADDR, &r) == 0 && r.ifr_hwaddr.sa_family != ARPHRD_ETHER)
		iw_log_warn(
			"%s is not Ethernet, which -t xdp needs: no tool can use the program there",
			name);
	if (fd >= 0)
		close(fd);
}

int iw_attachment_create(struct iw_attachment *k, const struct iw_attachment_cfg *cfg,
			 struct iw_fault *why)
{
	const char *name = cfg->interface;
	int err;

	*k = (struct iw_attachment){ .link = -1 };
	err = iw_interface_index(&k->ifindex, name, why);
	if (err)
		return err;
	if (cfg->program == IW_ATTACHMENT_STEER)
		warn_of_link(name);
	warn_of_leftovers(name, k->ifindex, cfg->pins);
	k->offloads_before = iw_interface_offloads(name);
	err = attach_program(k, cfg, why);
	if (!err)
		err = iw_attach_query(&k->a, k->ifindex, why);
	if (err)
		return err;
	k->offloads_after = iw_interface_offloads(name);
	k->queues = iw_interface_queues(name);
	return pass_to_holder(k, cfg, why);
}

int iw_attachment_wait(const struct iw_attachment *k, const char *interface, struct iw_fault *why)
{
	struct pollfd pfd = { .fd = iw_signals_fd(), .events = POLLIN };

	while (poll(&pfd, 1, 1000) <= 0)
		if (!iw_attach_link_holds(k->link))
			return iw_fail(why, IW_E_NOENT,
				       "interface %s: another process detached the program",
				       interface);
	return 0;
}

void iw_attachment_free(struct iw_attachment *k)
{
	iw_steer_close(k->steer);
	iw_observe_close(k->observe);
}

/*
 * --- writers -----------------------------------------------------------------------------------
 */

static void put_offloads_json(struct iw_json *w, const char *key, unsigned bits)
{
	iw_json_open_array(w, key);
	for (unsigned bit = 1; bit <= IW_XDP_TX_CSUM; bit <<= 1)
		if (bits & bit)
			iw_json_str(w, NULL, iw_interface_offload_name((enum iw_xdp_offload)bit));
	iw_json_close(w);
}

int iw_attachment_json(struct iw_json *w, const struct iw_attachment_cfg *cfg,
		       const struct iw_attachment *k, struct iw_fault *why)
{
	iw_json_begin(w, "attached");
	iw_json_str(w, "interface", cfg->interface);
	iw_json_u64(w, "ifindex", k->ifindex);
	iw_json_str(w, "program", iw_attachment_programs[cfg->program]);
	iw_json_str(w, "mode", k->a.native ? "native" : "generic");
	iw_json_bool(w, "multi_buffer", cfg->program == IW_ATTACHMENT_STEER);
	iw_json_u64(w, "queues", k->queues);
	iw_json_u64(w, "program_id", k->a.program);
	iw_json_u64(w, "link_id", k->a.link);
	iw_json_u64(w, "verified_insns", k->a.insns);
	iw_json_str(w, "kept_by", iw_attachment_holders[cfg->holder]);
	if (k->holder_pid)
		iw_json_u64(w, "holder_pid", (uint64_t)k->holder_pid);
	if (cfg->holder == IW_HELD_BY_PIN)
		iw_json_str(w, "pin", cfg->pins);
	put_offloads_json(w, "offloads", k->offloads_after);
	put_offloads_json(w, "offloads_lost", k->offloads_before & ~k->offloads_after);
	return iw_status_end_line(w, why);
}

void iw_attachment_print(const struct iw_attachment_cfg *cfg, const struct iw_attachment *k)
{
	const char *name = cfg->interface;
	unsigned lost = k->offloads_before & ~k->offloads_after;

	printf("%s: %s attached, %s mode, %u queue%s, program %u", name,
	       iw_attachment_programs[cfg->program], k->a.native ? "native" : "generic", k->queues,
	       k->queues == 1 ? "" : "s", k->a.program);
	if (cfg->holder == IW_HELD_BY_PIN)
		printf(", pinned in %s\n", cfg->pins);
	else if (cfg->holder == IW_HELD_BY_DISPATCHER)
		printf(", in a dispatcher\n");
	else
		printf(", kept by process %d\n", k->holder_pid);
	for (unsigned bit = 1; bit <= IW_XDP_TX_CSUM; bit <<= 1)
		if (lost & bit)
			printf("%s: offload %s was switched off\n", name,
			       iw_interface_offload_name((enum iw_xdp_offload)bit));
	if (cfg->program == IW_ATTACHMENT_MPA)
		printf("%s: while mpa is attached, a frame must fit one buffer: lro stays off, and the other "
		       "end of a veth pair sends without segmentation offload\n",
		       name);
	(void)fflush(stdout);
}
