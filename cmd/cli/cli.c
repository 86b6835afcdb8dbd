// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What a tool does before and after its work: init, start, fail, finish. */
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cli/config.h"
#include "cli/confine.h"
#include "cli/signals.h"
#include "llp/llp.h"
#include "os/os.h"
#include "util/num.h"

static const char *tool_name = "iwarp-tools";
static bool finished; /* iw_cli_finish has checked standard output */

static void print_version(FILE *f, struct argp_state *state)
{
	(void)state;
	fprintf(f, "%s (iwarp-tools) %s\n", tool_name, IW_VERSION);
}

/*
 * A descriptor opened later must not become 0, 1 or 2, because messages would be written into it.
 * The descriptors that were closed remain unusable: reading 0 and writing 1 and 2 fail, instead of
 * an empty input or lost output.
 */
static void open_standard_descriptors(void)
{
	static const int flags[] = { O_WRONLY, O_RDONLY, O_RDONLY };

	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", flags[fd]) < 0)
			return;
}

/*
 * Returns the errno of a failed write to standard output; 0: all of it was written. stdio does not
 * keep the errno of an earlier write, so this writes one more octet; the output is incomplete
 * anyway.
 */
static int failed_output(void)
{
	errno = 0;
	if (fflush(stdout) != 0)
		return errno ? errno : EIO;
	if (!ferror(stdout))
		return 0;
	return write(STDOUT_FILENO, "\n", 1) < 0 ? errno : EIO;
}

int iw_cli_flush(void)
{
	return fflush(stdout) != 0 || ferror(stdout) ? IW_E_OS : 0;
}

static void report_lost_output(int errnum)
{
	char phrase[80];

	if (errnum == EBADF)
		iw_log_error("standard output: closed");
	else if (errnum == EPIPE)
		iw_log_error("standard output: broken pipe: the program that read it has ended");
	else
		iw_log_error("standard output: %s", iw_os_strerror(phrase, sizeof(phrase), errnum));
}

/* For --help, --usage and --version, after which argp exits. */
static void check_output_at_exit(void)
{
	int errnum = finished ? 0 : failed_output();

	if (errnum == 0)
		return;
	report_lost_output(errnum);
	_exit(IW_EXIT_FAILED);
}

void iw_cli_init(struct iw_cli *cli, const char *tool, const char *transport)
{
	open_standard_descriptors();
	if (!finished)
		(void)atexit(check_output_at_exit);
	*cli = (struct iw_cli){
		.tool = tool,
		.transport = transport,
		.port = IW_CLI_PORT,
		.timeout_ns = IW_SEC(IW_CLI_PROGRESS_S),
		.setup_timeout_ns = IW_SEC(IW_CLI_SETUP_S),
		.level = IW_LOG_WARN,
	};
	iw_json_init(&cli->out, STDOUT_FILENO);
	tool_name = tool;
	argp_program_version_hook = print_version;
	argp_err_exit_status = IW_EXIT_USAGE;
	iw_log_setup(tool, cli->level);
}

static void report_config(const struct iw_config *c)
{
	for (unsigned i = 0; i < IW_CONFIG_FILES; i++)
		if (c->files[i].ignored)
			iw_log_warn("%s: ignored, because this program was built without inih",
				    c->files[i].path);
	for (size_t i = 0; i < c->nnotes; i++)
		if (c->notes[i].warn)
			iw_log_warn("%s", c->notes[i].text);
		else
			iw_log_info("%s", c->notes[i].text);
}

int iw_cli_start(struct iw_cli *cli)
{
	struct iw_fault why = { 0 };
	int err;

	iw_log_setup(cli->tool, cli->level);
	if (cli->config)
		report_config(cli->config);
	err = iw_confine_early(&why);
	if (!err)
		err = iw_signals_init(&why);
	if (!err && cli->trace_path)
		err = iw_cli_trace_open(&cli->trace, cli->trace_path, &why);
	return err ? iw_cli_fail(cli, &why) : IW_EXIT_OK;
}

void iw_cli_allow_descriptors(void)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) != 0 || r.rlim_cur >= r.rlim_max)
		return;
	r.rlim_cur = r.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &r);
}

int iw_cli_check_transport(struct iw_cli *cli)
{
	struct iw_fault why = { 0 };

	return iw_llp_available(cli->transport, &why) == 0 ? IW_EXIT_OK : iw_cli_fail(cli, &why);
}

int iw_cli_error_event(struct iw_cli *cli, const struct iw_fault *why, int status)
{
	struct iw_json *w = &cli->out;
	const char *clause = why->clause ? why->clause : "";

	iw_json_begin(w, "error");
	iw_json_str(w, "tool", cli->tool);
	iw_json_str(w, "error", iw_err_name(why->err));
	iw_json_str(w, "text", why->text[0] ? why->text : iw_err_text(why->err));
	if (clause[0])
		iw_json_str(w, "clause", clause);
	if (why->os_errno)
		iw_json_i64(w, "errno", why->os_errno);
	if (why->term != IW_NOTERM) {
		iw_json_open_object(w, "terminate");
		iw_json_u64(w, "layer", IW_TERM_LAYER(why->term));
		iw_json_u64(w, "etype", IW_TERM_ETYPE(why->term));
		iw_json_u64(w, "code", IW_TERM_CODE(why->term));
		iw_json_close(w);
		iw_json_bool(w, "from_peer", why->from_peer);
	}
	iw_json_i64(w, "exit_status", status);
	return iw_json_end(w);
}

int iw_cli_fail(struct iw_cli *cli, const struct iw_fault *why)
{
	const char *text = why->text[0] ? why->text : iw_err_text(why->err);
	int status = iw_exit_status(why->err);

	/* The clause is the rule that was broken. A canceled transfer broke none. */
	if (why->clause && why->clause[0] && why->err != IW_E_CANCELED)
		iw_log_error("%s (%s)", text, why->clause);
	else
		iw_log_error("%s", text);
	if (cli->json && iw_cli_error_event(cli, why, status) != 0)
		status = IW_EXIT_FAILED;
	return status;
}

void iw_cli_warn_of_host(const char *host)
{
	if (host)
		iw_log_warn(
			"--doctor examines only this machine; %s was not contacted: leave out --doctor for that",
			host);
}

static int lost_output(const struct iw_cli *cli)
{
	if (cli->out.err)
		return cli->out.os_errno ? cli->out.os_errno : ENOMEM;
	return failed_output();
}

int iw_cli_finish(struct iw_cli *cli, int status)
{
	int lost = lost_output(cli);
	struct iw_fault why;
	bool bad = lost != 0;

	finished = true;
	if (lost)
		report_lost_output(lost);
	iw_json_fini(&cli->out);
	if (iw_cli_trace_close(&cli->trace, &why) != 0) {
		iw_log_error("%s", why.text);
		bad = true;
	}
	return bad && (status == IW_EXIT_OK || status == IW_EXIT_NO) ? IW_EXIT_FAILED : status;
}
