// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Draws the diagram: writes a script to the standard input of gnuplot, whose standard output is the
 * file.
 */
#include "ddp-bench/plot.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/os.h"
#include "util/text.h"

static int absent(struct iw_fault *why)
{
	return iw_fail(
		why, IW_E_NOTSUP,
		"--plot: no gnuplot in PATH; install gnuplot-nox, or plot the output of --json");
}

int iw_bench_plot_can(struct iw_fault *why)
{
	const char *path = getenv("PATH");
	char file[4096];

	for (const char *p = path ? path : "/usr/bin:/bin"; *p;) {
		size_t len = strcspn(p, ":");

		snprintf(file, sizeof(file), "%.*s/gnuplot", (int)len, p);
		if (access(file, X_OK) == 0)
			return 0;
		p += len + (p[len] == ':');
	}
	return absent(why);
}

/* Writes text as a quoted string of gnuplot. */
static void quoted(FILE *f, const char *text)
{
	putc('\'', f);
	for (; *text; text++)
		if (*text == '\'')
			fputs("''", f);
		else
			putc(*text, f);
	putc('\'', f);
}

static void script(FILE *f, const char *title, const char *latency, const struct iw_bench_point *p,
		   size_t n)
{
	fputs("set terminal svg size 900,760 dynamic background 'white' font 'sans,13'\n"
	      "set encoding utf8\n"
	      "$points << END\n",
	      f);
	/* A logarithmic axis cannot show size 0. */
	for (size_t i = 0; i < n; i++)
		fprintf(f, "%" PRIu64 " %.9g %.9g %.9g %.9g %.9g\n", p[i].size ? p[i].size : 1,
			p[i].bits / 1e9, p[i].messages / 1e6, (double)p[i].p50 / 1e3,
			(double)p[i].p99 / 1e3, (double)p[i].p9999 / 1e3);
	fputs("END\n"
	      "set multiplot layout 2,1 title ",
	      f);
	quoted(f, title);
	fputs(" noenhanced\n"
	      "set grid\n"
	      "set logscale x 2\n"
	      "set format x '%.0b%B'\n"
	      "set lmargin 10\n"
	      "set rmargin 10\n"
	      "set key left top opaque\n"
	      "set ylabel 'Gb/s'\n"
	      "set y2label 'million messages/s'\n"
	      "set yrange [0:*]\n"
	      "set y2range [0:*]\n"
	      "set ytics nomirror\n"
	      "set y2tics\n"
	      "plot $points using 1:2 with linespoints lw 2 pt 7 ps 0.6 title 'throughput',"
	      " $points using 1:3 axes x1y2 with linespoints lw 1 dt 2 pt 6 ps 0.5"
	      " title 'message rate'\n"
	      "unset y2label\n"
	      "unset y2tics\n"
	      "set ytics mirror\n"
	      "set xlabel 'octets of a message'\n"
	      "set ylabel 'µs'\n"
	      "set yrange [*:*]\n"
	      "set logscale y\n"
	      "set format y '%g'\n"
	      "set title ",
	      f);
	quoted(f, latency);
	fputs(" noenhanced\n"
	      "plot $points using 1:4 with linespoints lw 2 pt 7 ps 0.6 title 'p50',"
	      " $points using 1:5 with linespoints lw 1 pt 6 ps 0.5 title 'p99',"
	      " $points using 1:6 with linespoints lw 1 dt 2 pt 4 ps 0.5 title 'p99.99'\n"
	      "unset multiplot\n",
	      f);
}

/* In the child: runs gnuplot with in as standard input and out as standard output. */
static void become_gnuplot(int in, int out)
{
	char *const argv[] = { (char *)(uintptr_t) "gnuplot", NULL };

	if (dup2(in, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0)
		_exit(126);
	execvp(argv[0], argv);
	_exit(127);
}

static int draw(int out, const char *title, const char *latency, const struct iw_bench_point *p,
		size_t n, struct iw_fault *why)
{
	int ends[2], status = 0, failed;
	pid_t child;
	FILE *f;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return iw_os_fail(why, errno, "--plot: create a pipe");
	fflush(NULL);
	child = fork();
	if (child == 0)
		become_gnuplot(ends[0], out);
	close(ends[0]);
	f = child < 0 ? NULL : fdopen(ends[1], "w");
	if (!f) {
		close(ends[1]);
		return iw_os_fail(why, errno, "--plot: start gnuplot");
	}
	script(f, title, latency, p, n);
	failed = fclose(f);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
		return absent(why);
	if (failed || status != 0)
		return iw_fail(why, IW_E_OS, "--plot: gnuplot failed; its own message is above");
	return 0;
}

/* Creates the file that is renamed to path when it is complete, and returns its descriptor. Sets
 * part to its name. */
static int create(char *part, size_t cap, const char *path, struct iw_fault *why)
{
	char reason[80];
	struct stat st;
	int fd, err;

	if ((size_t)snprintf(part, cap, "%s.part", path) >= cap)
		return iw_fail(why, IW_E_INVAL,
			       "--plot: the file name has %U octets; expected at most %U",
			       (uint64_t)strlen(path), (uint64_t)cap - sizeof(".part"));
	/*
	 * Removes the file of an earlier run. O_EXCL then follows no link and opens no file of
	 * another user.
	 */
	(void)unlink(part);
	fd = open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	err = errno;
	if (fd >= 0 && stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
		close(fd);
		unlink(part);
		fd = -1;
		err = EISDIR;
	}
	if (fd >= 0)
		return fd;
	if (err == ENOENT)
		return iw_fail(why, iw_os_err(err),
			       "--plot \"%s\": its directory does not exist; create it, or name "
			       "another file",
			       path);
	return iw_fail(why, iw_os_err(err),
		       "--plot \"%s\": cannot create it: %s; name another file", path,
		       iw_os_strerror(reason, sizeof(reason), err));
}

int iw_bench_plot_check(const char *path, struct iw_fault *why)
{
	char part[4096];
	int fd = create(part, sizeof(part), path, why);

	if (fd < 0)
		return fd;
	close(fd);
	unlink(part);
	return 0;
}

int iw_bench_plot(const char *path, const char *title, const char *latency,
		  const struct iw_bench_point *p, size_t n, struct iw_fault *why)
{
	char part[4096];
	int fd = create(part, sizeof(part), path, why), err;

	if (fd < 0)
		return fd;
	err = draw(fd, title, latency, p, n, why);
	close(fd);
	if (!err && rename(part, path) < 0)
		err = iw_os_fail(why, errno, "--plot: rename to %s", path);
	if (err)
		unlink(part);
	return err;
}
