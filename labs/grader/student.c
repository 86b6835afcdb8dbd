/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "labs/grader/lab.h"
#include "labs/grader/student.h"
#include "os/os.h"
#include "os/priv.h"
#include "util/num.h"

enum {
	CHANNEL = 3, /* as in labs/common/harness.c */
	ANSWER_MAX = 64 << 20,
	PRINTED_MAX = 4000, /* octets that are kept of what it printed */
	SANITIZER_STATUS = 99,
	NOBODY = 65534,
	MEMORY_MIB = 1024,
	WATCH_MS = 20, /* between two looks at the memory of a sanitized program */
};

static const char sanitizer_options[] =
	"exitcode=99:detect_leaks=0:detect_stack_use_after_return=1:strict_string_checks=1:"
	"allocator_may_return_null=1:disable_coredump=0";

struct student {
	bool sanitized;
	int program; /* memfd */
	pid_t pid;   /* 0: does not run */
	int channel, output;
	uint8_t *answer;
	size_t answer_cap;
	char printed[PRINTED_MAX + 1];
	size_t printed_len;
	char end[200];
};

/* --- the process ------------------------------------------------------------------------------ */

static void limit(int what, rlim_t value)
{
	struct rlimit l = { value, value };

	setrlimit(what, &l);
}

/* System calls that a computing program makes. All others fail with EPERM. */
static const int allowed[] = {
	SCMP_SYS(read),
	SCMP_SYS(write),
	SCMP_SYS(readv),
	SCMP_SYS(writev),
	SCMP_SYS(pread64),
	SCMP_SYS(close),
	SCMP_SYS(lseek),
	SCMP_SYS(fstat),
	SCMP_SYS(stat),
	SCMP_SYS(lstat),
	SCMP_SYS(newfstatat),
	SCMP_SYS(statx),
	SCMP_SYS(access),
	SCMP_SYS(faccessat),
	SCMP_SYS(faccessat2),
	SCMP_SYS(readlink),
	SCMP_SYS(readlinkat),
	SCMP_SYS(getcwd),
	SCMP_SYS(mmap),
	SCMP_SYS(munmap),
	SCMP_SYS(mprotect),
	SCMP_SYS(mremap),
	SCMP_SYS(madvise),
	SCMP_SYS(mincore),
	SCMP_SYS(brk),
	SCMP_SYS(rt_sigaction),
	SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigreturn),
	SCMP_SYS(sigaltstack),
	SCMP_SYS(exit),
	SCMP_SYS(exit_group),
	SCMP_SYS(futex),
	SCMP_SYS(clock_gettime),
	SCMP_SYS(clock_getres),
	SCMP_SYS(gettimeofday),
	SCMP_SYS(time),
	SCMP_SYS(times),
	SCMP_SYS(nanosleep),
	SCMP_SYS(clock_nanosleep),
	SCMP_SYS(getpid),
	SCMP_SYS(gettid),
	SCMP_SYS(getuid),
	SCMP_SYS(geteuid),
	SCMP_SYS(getgid),
	SCMP_SYS(getegid),
	SCMP_SYS(getppid),
	SCMP_SYS(getrandom),
	SCMP_SYS(arch_prctl),
	SCMP_SYS(set_tid_address),
	SCMP_SYS(set_robust_list),
	SCMP_SYS(rseq),
	SCMP_SYS(getrlimit),
	SCMP_SYS(getrusage),
	SCMP_SYS(sched_yield),
	SCMP_SYS(sched_getaffinity),
	SCMP_SYS(uname),
	SCMP_SYS(sysinfo),
	SCMP_SYS(restart_syscall),
	SCMP_SYS(execveat),
};

/* Returns 0 or an errno. Called in the new process: the filter allows signals to itself alone. */
static int refuse_system_calls(void)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	uint64_t self = (uint64_t)getpid();
	int err = filter ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < sizeof(allowed) / sizeof(allowed[0]); i++)
		err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, allowed[i], 0);
	if (!err)
		err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1,
				       SCMP_A0(SCMP_CMP_EQ, self));
	/* Files may be opened to read: the loader needs libraries. */
	if (!err)
		err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(openat), 1,
				       SCMP_A2(SCMP_CMP_MASKED_EQ, O_ACCMODE | O_CREAT | O_TRUNC,
					       O_RDONLY));
	if (!err)
		err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(open), 1,
				       SCMP_A1(SCMP_CMP_MASKED_EQ, O_ACCMODE | O_CREAT | O_TRUNC,
					       O_RDONLY));
	/* Limits can be read, not set. */
	if (!err)
		err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(prlimit64), 1,
				       SCMP_A2(SCMP_CMP_EQ, 0));
	if (!err)
		err = seccomp_load(filter);
	if (filter)
		seccomp_release(filter);
	return -err;
}

static void set_limits(bool sanitized)
{
	limit(RLIMIT_CORE, 0);
	limit(RLIMIT_CPU, 60);
	limit(RLIMIT_FSIZE, 0);
	limit(RLIMIT_NOFILE, 16);
	limit(RLIMIT_MSGQUEUE, 0);
	limit(RLIMIT_MEMLOCK, 0);
	/*
	 * AddressSanitizer reserves terabytes of address space: uses_too_much() watches such a
	 * program. AddressSanitizer may also be in this program.
	 */
#ifndef __SANITIZE_ADDRESS__
	if (!sanitized)
		limit(RLIMIT_AS, (rlim_t)MEMORY_MIB << 20);
#else
	(void)sanitized;
#endif
}

/*
 * Root becomes `nobody`. Root of a user namespace that has no such user, as of `unshare -r`, is an
 * ordinary user outside; there the process loses the capabilities alone.
 */
static int drop_user(void)
{
	struct iw_fault why = { 0 };

	if (!geteuid() && iw_os_priv_become(NOBODY, NOBODY, &why) < 0)
		return -1;
	return iw_os_priv_drop(&why);
}

/* In the new process. Does not return. */
static void become(const struct student *s, int channel, int output)
{
	char name[] = "student", *argv[] = { name, NULL };
	char address[sizeof(sanitizer_options) + 16], undefined[64];
	char *envp[] = { address, undefined, NULL };
	int program, null;

	snprintf(address, sizeof(address), "ASAN_OPTIONS=%s", sanitizer_options);
	snprintf(undefined, sizeof(undefined), "UBSAN_OPTIONS=print_stacktrace=1:exitcode=99");
	signal(SIGPIPE, SIG_DFL);
	null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	/* Above the descriptors that are replaced now. */
	program = fcntl(s->program, F_DUPFD_CLOEXEC, 10);
	channel = fcntl(channel, F_DUPFD_CLOEXEC, 10);
	output = fcntl(output, F_DUPFD_CLOEXEC, 10);
	if (null < 0 || program < 0 || channel < 0 || output < 0 || dup2(null, 0) < 0 ||
	    dup2(output, 1) < 0 || dup2(output, 2) < 0 || dup2(channel, CHANNEL) < 0 || chdir("/"))
		_exit(91);
	close_range(CHANNEL + 1, ~0U, CLOSE_RANGE_CLOEXEC);
	if (drop_user())
		_exit(92);
	/* After drop_user(): a change of the user removes this setting. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	set_limits(s->sanitized);
	if (refuse_system_calls())
		_exit(93);
	execveat(program, "", argv, envp, AT_EMPTY_PATH);
	_exit(94);
}

static void close_ends(struct student *s)
{
	s->pid = 0;
	close(s->channel);
	close(s->output);
}

static void end_process(struct student *s)
{
	if (!s->pid)
		return;
	kill(s->pid, SIGKILL);
	while (waitpid(s->pid, NULL, 0) < 0 && errno == EINTR)
		;
	close_ends(s);
}

/* The process has closed its socket. Returns true and its status if it also ends within 200 ms. */
static bool left_by_itself(struct student *s, int *status)
{
	for (int i = 0; i < 200; i++) {
		if (waitpid(s->pid, status, WNOHANG) == s->pid)
			return true;
		usleep(1000);
	}
	return false;
}

int student_start(struct student *s, struct iw_fault *why)
{
	int channel[2], output[2], err;

	end_process(s);
	s->printed_len = 0;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, channel))
		return iw_os_fail(why, errno, "socketpair");
	if (pipe2(output, O_CLOEXEC)) {
		err = iw_os_fail(why, errno, "pipe");
		close(channel[0]);
		close(channel[1]);
		return err;
	}
	fflush(NULL);
	s->pid = fork();
	if (s->pid == 0)
		become(s, channel[1], output[1]);
	close(channel[1]);
	close(output[1]);
	if (s->pid < 0) {
		s->pid = 0;
		err = iw_os_fail(why, errno, "fork");
		close(channel[0]);
		close(output[0]);
		return err;
	}
	s->channel = channel[0];
	s->output = output[0];
	fcntl(s->channel, F_SETFL, O_NONBLOCK);
	fcntl(s->output, F_SETFL, O_NONBLOCK);
	return 0;
}

/* --- new and free ------------------------------------------------------------------------------- */

static int read_program(int to, const char *name, struct iw_fault *why)
{
	char buffer[65536];
	int from = open(name, O_RDONLY | O_CLOEXEC);
	ssize_t n;
	int err = 0;

	if (from < 0)
		return iw_os_fail(why, errno, "%s", name);
	while ((n = read(from, buffer, sizeof(buffer))) > 0 && !err)
		if (write(to, buffer, (size_t)n) != n)
			err = iw_os_fail(why, errno, "the copy of the program in memory");
	if (n < 0)
		err = iw_os_fail(why, errno, "%s", name);
	close(from);
	return err;
}

int student_new(struct student **out, const struct student_cfg *cfg, struct iw_fault *why)
{
	struct student *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return IW_E_NOMEM;
	s->sanitized = cfg->sanitized;
	/* The process must not read the grader's memory. */
	prctl(PR_SET_DUMPABLE, 0);
	signal(SIGPIPE, SIG_IGN);
	s->program = memfd_create("student", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	err = s->program < 0 ? iw_os_fail(why, errno, "memfd_create")
			     : read_program(s->program, cfg->program, why);
	if (!err && (fchmod(s->program, 0555) ||
		     fcntl(s->program, F_ADD_SEALS,
			   F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL)))
		err = iw_os_fail(why, errno, "the copy of the program in memory");
	if (err) {
		student_free(s);
		return err;
	}
	*out = s;
	return 0;
}

void student_free(struct student *s)
{
	if (!s)
		return;
	end_process(s);
	if (s->program >= 0)
		close(s->program);
	free(s->answer);
	free(s);
}

/* --- calls -------------------------------------------------------------------------------------- */

/* Reads what the process printed, and keeps the end of it. */
static void drain(struct student *s)
{
	char buffer[4096];
	ssize_t n;

	while ((n = read(s->output, buffer, sizeof(buffer))) > 0) {
		size_t len = (size_t)n, keep = IW_MIN(len, (size_t)PRINTED_MAX), drop;

		drop = s->printed_len + keep > PRINTED_MAX ? s->printed_len + keep - PRINTED_MAX
							   : 0;
		memmove(s->printed, s->printed + drop, s->printed_len - drop);
		s->printed_len -= drop;
		memcpy(s->printed + s->printed_len, buffer + len - keep, keep);
		s->printed_len += keep;
	}
	s->printed[s->printed_len] = '\0';
}

static const char *signal_text(int number)
{
	switch (number) {
	case SIGSEGV:
	case SIGBUS:
		return "an access outside of the memory that it was given, or through a wrong pointer";
	case SIGABRT:
		return "abort() or a failed assert()";
	case SIGFPE:
		return "a division by zero";
	case SIGXCPU:
		return "60 s of processor time were used: an endless loop?";
	case SIGILL:
		return "an illegal instruction";
	case SIGSYS:
		return "a system call that a module must not make";
	default:
		return strsignal(number);
	}
}

/* The line of a sanitizer's report that says what happened. */
static const char *sanitizer_line(const char *printed, char *dst, size_t cap)
{
	const char *at = strstr(printed, "ERROR: AddressSanitizer: ");

	at = at ? at + strlen("ERROR: AddressSanitizer: ") : strstr(printed, "runtime error: ");
	if (!at)
		return "its report is below";
	snprintf(dst, cap, "%.*s", (int)IW_MIN(strcspn(at, "\n"), (size_t)100), at);
	return dst;
}

/* Ends the process and describes how it ended. */
static enum student_end ended(struct student *s, enum student_end end, unsigned int ms)
{
	char line[128];
	int status = 0;

	if (end == STUDENT_LEFT && left_by_itself(s, &status)) {
		drain(s);
		close_ends(s);
		if (WIFSIGNALED(status))
			end = STUDENT_CRASHED;
		else if (WEXITSTATUS(status) == SANITIZER_STATUS)
			end = STUDENT_REPORTED;
	} else {
		drain(s);
		end_process(s);
	}
	switch (end) {
	case STUDENT_ANSWERED:
		break;
	case STUDENT_CRASHED:
		snprintf(s->end, sizeof(s->end), "crashed (SIG%s: %s)",
			 sigabbrev_np(WTERMSIG(status)), signal_text(WTERMSIG(status)));
		break;
	case STUDENT_REPORTED:
		snprintf(s->end, sizeof(s->end), "was stopped by a sanitizer (%s)",
			 sanitizer_line(s->printed, line, sizeof(line)));
		break;
	case STUDENT_LEFT:
		snprintf(s->end, sizeof(s->end),
			 "ended the process (exit status %d), or closed the socket of the grader",
			 WEXITSTATUS(status));
		break;
	case STUDENT_SILENT:
		snprintf(s->end, sizeof(s->end), "did not return within %u ms: an endless loop?",
			 ms);
		break;
	case STUDENT_LARGE:
		snprintf(s->end, sizeof(s->end), "used more than %d MiB of memory", MEMORY_MIB);
		break;
	case STUDENT_GARBLED:
		snprintf(s->end, sizeof(s->end), "wrote to the socket of the grader");
		break;
	}
	return end;
}

/* The time left until the deadline, for poll(). */
static int left(uint64_t deadline)
{
	uint64_t now = lab_now();

	return now >= deadline ? 0 : (int)((deadline - now) / 1000000 + 1);
}

/*
 * A sanitized program has no limit of address space, and AddressSanitizer's own limit of memory needs
 * a thread, which the filter refuses. So the grader looks at the pages that the process has.
 */
static bool uses_too_much(const struct student *s)
{
	char path[64];
	unsigned long long pages = 0;
	FILE *f;

	if (!s->sanitized)
		return false;
	snprintf(path, sizeof(path), "/proc/%d/statm", (int)s->pid);
	f = fopen(path, "re");
	if (!f)
		return false;
	if (fscanf(f, "%*u %llu", &pages) != 1)
		pages = 0;
	fclose(f);
	return pages * (unsigned long long)sysconf(_SC_PAGESIZE) >> 20 >= MEMORY_MIB;
}

/* Waits for the channel, while it drains the output. Any result but STUDENT_ANSWERED: give up. */
static enum student_end wait_for(struct student *s, short events, uint64_t deadline)
{
	for (;;) {
		struct pollfd fds[2] = { { .fd = s->channel, .events = events },
					 { .fd = s->output, .events = POLLIN } };
		int ms = left(deadline);

		if (!ms)
			return STUDENT_SILENT;
		if (uses_too_much(s))
			return STUDENT_LARGE;
		if (s->sanitized)
			ms = IW_MIN(ms, WATCH_MS);
		if (fds[1].fd >= 0 && poll(fds, 2, ms) < 0 && errno != EINTR)
			return STUDENT_SILENT;
		if (fds[1].revents & POLLIN)
			drain(s);
		if (fds[0].revents)
			return STUDENT_ANSWERED;
		/* The process has closed its output: do not poll a descriptor that is always ready. */
		if (fds[1].revents & (POLLHUP | POLLERR))
			usleep(1000);
	}
}

static enum student_end write_call(struct student *s, const uint8_t *at, size_t len,
				   uint64_t deadline)
{
	while (len) {
		ssize_t n = send(s->channel, at, len, MSG_NOSIGNAL);

		if (n > 0) {
			at += n;
			len -= (size_t)n;
		} else if (n < 0 && errno == EAGAIN) {
			enum student_end end = wait_for(s, POLLOUT, deadline);

			if (end != STUDENT_ANSWERED)
				return end;
		} else if (n == 0 || errno != EINTR) {
			return STUDENT_LEFT;
		}
	}
	return STUDENT_ANSWERED;
}

static enum student_end read_octets(struct student *s, uint8_t *at, size_t len, uint64_t deadline)
{
	while (len) {
		ssize_t n = recv(s->channel, at, len, 0);

		if (n > 0) {
			at += n;
			len -= (size_t)n;
		} else if (n < 0 && errno == EAGAIN) {
			enum student_end end = wait_for(s, POLLIN, deadline);

			if (end != STUDENT_ANSWERED)
				return end;
		} else if (n == 0 || errno != EINTR) {
			return STUDENT_LEFT;
		}
	}
	return STUDENT_ANSWERED;
}

static enum student_end read_answer(struct student *s, uint64_t deadline, size_t *len)
{
	uint8_t head[4];
	enum student_end end = read_octets(s, head, sizeof(head), deadline);

	if (end != STUDENT_ANSWERED)
		return end;
	*len = (size_t)head[0] << 24 | (size_t)head[1] << 16 | (size_t)head[2] << 8 | head[3];
	if (*len > ANSWER_MAX)
		return STUDENT_GARBLED;
	if (*len > s->answer_cap) {
		uint8_t *more = realloc(s->answer, *len);

		if (!more)
			return STUDENT_GARBLED;
		s->answer = more;
		s->answer_cap = *len;
	}
	return read_octets(s, s->answer, *len, deadline);
}

enum student_end student_call(struct student *s, const uint8_t *call, size_t len, unsigned int ms,
			      const uint8_t **answer, size_t *answer_len)
{
	enum student_end end;
	uint64_t deadline;

	if (s->sanitized)
		ms *= 2;
	deadline = lab_now() + ms * (uint64_t)1000000;
	if (!s->pid) {
		snprintf(s->end, sizeof(s->end), "has no process: it ended before");
		return STUDENT_LEFT;
	}
	end = write_call(s, call, len, deadline);
	if (end == STUDENT_ANSWERED)
		end = read_answer(s, deadline, answer_len);
	if (end != STUDENT_ANSWERED)
		return ended(s, end, ms);
	*answer = s->answer;
	drain(s);
	return end;
}

const char *student_end_text(const struct student *s)
{
	return s->end;
}

const char *student_printed(const struct student *s)
{
	return s->printed;
}
