// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Reports as lines for people, or as JSON objects for programs. */
#include "transfer/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/conn_facts.h"
#include "cli/human.h"
#include "cli/term.h"
#include "cli/text.h"
#include "transfer/files/fault.h"
#include "transfer/files/filter.h"
#include "util/num.h"
#include "util/text.h"

/* The time between updates of the progress line, and between "progress" events. */
#define BEAT      IW_MSEC(100)
#define JSON_BEAT IW_SEC(1)
#define KEPT_TEXT 192 /* octets of a text of count_kept */

void iw_report_init(struct iw_report *r, struct iw_cli *cli, bool data_on_stdout)
{
	memset(r, 0, sizeof(*r));
	r->cli = cli;
	r->data_on_stdout = data_on_stdout;
	r->on_terminal = iw_cli_columns(STDERR_FILENO) > 0;
}

static void bar_end(struct iw_report *r)
{
	if (r->bar_on)
		iw_cli_progress_end(&r->bar);
	r->bar_on = false;
}

static void end_cause(struct iw_report *r)
{
	if (r->repeats > 0)
		iw_log_error("%" PRIu64 " more name%s failed: %s%s", r->repeats,
			     r->repeats == 1 ? "" : "s", r->cause,
			     r->cli->level >= IW_LOG_INFO ? "" : "; --verbose lists them");
	r->repeats = 0;
	r->cause[0] = '\0';
}

void iw_report_fini(struct iw_report *r)
{
	bar_end(r);
	end_cause(r);
}

static bool human(const struct iw_report *r)
{
	return !r->cli->json && !r->cli->quiet && !r->data_on_stdout && !r->silent;
}

static bool json(const struct iw_report *r)
{
	return r->cli->json && !r->silent;
}

static void end_object(struct iw_report *r)
{
	if (iw_json_end(&r->cli->out) != 0)
		r->lost = true;
}

static void flush(struct iw_report *r)
{
	if (fflush(stdout) != 0)
		r->lost = true;
}

void iw_report_listening(struct iw_report *r, const char *addr, uint16_t port, uint16_t udp_port,
			 bool any_port, bool by_default)
{
	const char *local = by_default ? ", for this machine only: --bind ADDR for others" : "";
	bool quiet = r->cli->quiet && !any_port;
	char udp[32] = "";

	if (udp_port)
		snprintf(udp, sizeof(udp), ", UDP port %u", (unsigned)udp_port);

	if (r->cli->json) {
		iw_json_begin(&r->cli->out, "listening");
		iw_json_str(&r->cli->out, "transport", r->cli->transport);
		iw_json_str(&r->cli->out, "address", addr);
		iw_json_u64(&r->cli->out, "port", port);
		if (udp_port)
			iw_json_u64(&r->cli->out, "udp_port", udp_port);
		end_object(r);
	} else if (r->data_on_stdout && !quiet) {
		fprintf(stderr, "%s: listening on %s%s%s\n", r->cli->tool, addr, udp, local);
	} else if (!quiet && !r->data_on_stdout && !r->silent) {
		printf("listening on %s%s%s\n", addr, udp, local);
		flush(r);
	}
}

void iw_report_connected(const struct iw_qp *qp)
{
	struct iw_assoc_info assoc = { .size = sizeof(assoc) };
	struct iw_qp_info info;
	bool sctp = iw_qp_assoc(qp, &assoc, NULL) == 0;
	bool xdp = sctp && assoc.xdp_mode;
	struct iw_tls_info tls;
	struct iw_text t;
	char text[400];

	iw_qp_info(qp, &info);
	iw_text_init(&t, text, sizeof(text));
	iw_cli_facts_text(&t, &info, !sctp);
	if (iw_cli_facts_tls(&tls, qp)) {
		iw_text_str(&t, ", ");
		iw_cli_facts_tls_text(&t, &tls);
	}
	iw_log_info("%s: connected, %s%s%s", info.peer, text, xdp ? ", XDP " : "",
		    xdp ? assoc.xdp_mode : "");
}

void iw_report_rejected(struct iw_report *r, const char *peer, const struct iw_fault *why)
{
	iw_log_warn("%s: rejected: %s", peer, why->text);
	if (!r->cli->json)
		return;
	iw_json_begin(&r->cli->out, "rejected");
	iw_json_str(&r->cli->out, "peer", peer);
	iw_json_str(&r->cli->out, "text", why->text);
	end_object(r);
}

static const char *outcome_word(uint32_t code)
{
	if (iw_xfer_code_is_skip(code))
		return code == IW_XFER_CODE_SAME ? "same" : "skipped";
	if (code == IW_XFER_CODE_WOULD)
		return "would";
	return code == IW_XFER_CODE_OK ? "done" : "failed";
}

/* A missing file has no size: a source reports 0, a sink IW_XFER_SIZE_UNKNOWN. */
static bool has_size(const struct iw_file_report *f)
{
	return f->meta->kind == IW_XFER_FILE && f->meta->size != IW_XFER_SIZE_UNKNOWN &&
	       f->code != IW_XFER_CODE_NOENT;
}

static void file_json(struct iw_report *r, const struct iw_file_report *f)
{
	struct iw_json *w = &r->cli->out;
	static const char *const kinds[] = { "file", "directory", "stream", "symlink", "hardlink" };

	iw_json_begin(w, "file");
	iw_json_str(w, "peer", f->peer);
	iw_json_text(w, "name", f->meta->name, f->meta->name_len);
	iw_json_str(w, "kind", f->meta->kind < IW_ARRAY_LEN(kinds) ? kinds[f->meta->kind] : NULL);
	if (has_size(f))
		iw_json_u64(w, "size_octets", f->meta->size);
	iw_json_str(w, "outcome", outcome_word(f->code));
	if (f->code != IW_XFER_CODE_OK && f->code != IW_XFER_CODE_SAME) {
		iw_json_str(w, "code", iw_xfer_code_name(f->code));
		iw_json_str(w, "text", f->text[0] ? f->text : iw_xfer_code_text(f->code));
		iw_json_bool(w, "told_by_peer", f->told_by_peer);
	}
	if (f->dry_run)
		iw_json_bool(w, "dry_run", true);
	end_object(r);
}

static bool is_no_dir(const char *text)
{
	return strcmp(text, iw_file_no_dir) == 0 || strcmp(text, iw_file_no_dir_there) == 0;
}

/*
 * True if all names below a directory can fail for this reason: the directory's type, a limit, a
 * full file system.
 */
static bool can_repeat(const struct iw_file_report *f)
{
	return f->code == IW_XFER_CODE_LIMIT || f->code == IW_XFER_CODE_TARGET ||
	       f->code == IW_XFER_CODE_SPACE;
}

/* True if the same reason was logged for another name. */
static bool is_repeated(struct iw_report *r, const struct iw_file_report *f)
{
	const char *text = f->text[0] ? f->text : iw_xfer_code_text(f->code);
	/* Nothing below the directory can be stored: one message is enough. */
	bool whole = f->code == IW_XFER_CODE_TARGET && is_no_dir(f->text);
	bool again = strcmp(text, r->cause) == 0;

	if (!can_repeat(f))
		return false;
	if (!again) {
		end_cause(r);
		snprintf(r->cause, sizeof(r->cause), "%s", text);
	}
	r->repeats += again && !whole;
	return again;
}

/* True if the text repeats what the code says. */
static bool repeats_code(const struct iw_file_report *f)
{
	return (f->code == IW_XFER_CODE_NOENT && strstr(f->text, "no such file or directory")) ||
	       (f->code == IW_XFER_CODE_CHANGED && strstr(f->text, "while it was being sent")) ||
	       (f->code == IW_XFER_CODE_TARGET && is_no_dir(f->text)) ||
	       (f->code == IW_XFER_CODE_KIND && strstr(f->text, "cannot be sent")) ||
	       ((f->code == IW_XFER_CODE_PERM || f->code == IW_XFER_CODE_SPACE ||
		 f->code == IW_XFER_CODE_IO) &&
		strstr(f->text, iw_xfer_code_text(f->code)));
}

/* The name for an error message, or for what has none: the path as the user gave it, if known. */
static void name_failed(char *name, size_t cap, const struct iw_file_report *f)
{
	const char *typed = f->typed && f->typed[0] ? f->typed : NULL;

	if (f->meta->kind == IW_XFER_PACK && f->meta->name_len == 0)
		snprintf(name, cap, "%" PRIu32 " small file%s", f->meta->members,
			 f->meta->members == 1 ? "" : "s");
	else if (typed)
		iw_printable(name, cap, typed, strlen(typed), true);
	else if (f->meta->name_len > 0)
		iw_printable(name, cap, f->meta->name, f->meta->name_len, true);
	else
		snprintf(name, cap, "the transferred directory");
}

static void log_failed(struct iw_report *r, const struct iw_file_report *f, const char *name)
{
	const char *code = repeats_code(f) ? "" : iw_xfer_code_text(f->code);
	enum iw_log_level level = is_repeated(r, f) ? IW_LOG_INFO : IW_LOG_ERROR;

	iw_log(level, "%s: %s%s%s%s", name, f->told_by_peer ? "the peer says: " : "", code,
	       f->text[0] && code[0] ? ": " : "", f->text);
}

void iw_report_file(struct iw_report *r, const struct iw_file_report *f)
{
	bool failed = !iw_xfer_code_is_fine(f->code) && f->code != IW_XFER_CODE_CANCELED;
	char name[4096];

	if (r->silent)
		return;
	if (failed || f->meta->kind == IW_XFER_PACK || f->meta->name_len == 0)
		name_failed(name, sizeof(name), f);
	else
		iw_printable(name, sizeof(name), f->meta->name, f->meta->name_len, true);
	/* CANCELED only repeats the result of the whole transfer, which is reported separately. */
	if (f->code == IW_XFER_CODE_WOULD && human(r))
		printf("%s: %s\n", name, iw_xfer_code_text(f->code));
	else if (iw_xfer_code_is_skip(f->code) && f->text[0])
		iw_log_warn("%s: %s: %s", name, iw_xfer_code_text(f->code), f->text);
	else if (!failed)
		iw_log_info("%s: %s", name, iw_xfer_code_text(f->code));
	else
		log_failed(r, f, name);
	if (r->cli->json)
		file_json(r, f);
}

void iw_report_gone(struct iw_report *r, const char *peer, const char *name, bool would)
{
	char text[4096];

	if (r->silent)
		return;
	iw_printable(text, sizeof(text), name, strlen(name), true);
	if (would && human(r))
		printf("%s: would be removed\n", text);
	else
		iw_log_info("%s: removed", text);
	if (!r->cli->json)
		return;
	iw_json_begin(&r->cli->out, "removed");
	iw_json_str(&r->cli->out, "peer", peer);
	iw_json_text(&r->cli->out, "name", name, strlen(name));
	iw_json_bool(&r->cli->out, "would", would);
	if (would)
		iw_json_bool(&r->cli->out, "dry_run", true);
	end_object(r);
}

/* 0: not known. */
static uint64_t time_left(uint64_t done, uint64_t total, uint64_t rate)
{
	return rate == 0 || total <= done
		       ? 0
		       : (uint64_t)((long double)(total - done) * 8e9L / (long double)rate);
}

static bool has_share(const struct iw_report_progress *p)
{
	/* If the transfer is only this file, the line shows the same already. */
	return p->file_total > 0 && p->file_total != p->total;
}

/*
 * "t/large 45% 0:12 left", before the figures of the whole transfer. If it does not fit, the line
 * cuts off its start.
 */
static void name_bar(struct iw_report *r, const struct iw_report_progress *p, uint64_t now)
{
	uint64_t left = time_left(p->file_done, p->file_total, iw_cli_progress_rate(&r->bar, now));
	char name[96], more[64] = "", time[IW_HUMAN_TEXT];
	size_t len;

	if (!p->name) {
		snprintf(r->what, sizeof(r->what), "%" PRIu64 " file%s", p->files,
			 p->files == 1 ? "" : "s");
		return;
	}
	/* Long names are distinguished by their ends. */
	len = strlen(p->name);
	iw_printable(name, sizeof(name), p->name + (len > 90 ? len - 90 : 0), len > 90 ? 90 : len,
		     true);
	if (has_share(p))
		snprintf(more, sizeof(more), " %u%%%s%s",
			 (unsigned)((long double)p->file_done * 100 / (long double)p->file_total),
			 left ? " " : "", left ? iw_human_time(time, left) : "");
	snprintf(r->what, sizeof(r->what), "%s%s", name, more);
}

static void progress_json(struct iw_report *r, const struct iw_report_progress *p, uint64_t now)
{
	uint64_t rate = iw_cli_progress_rate(&r->bar, now),
		 left = time_left(p->done, p->total, rate);
	struct iw_json *w = &r->cli->out;

	iw_json_begin(w, "progress");
	iw_json_u64(w, "done_octets", p->done);
	if (p->total > 0)
		iw_json_u64(w, "total_octets", p->total);
	iw_json_u64(w, "moved_octets", p->moved);
	iw_json_u64(w, "files_done", p->files);
	iw_json_u64(w, "bits_per_second", rate);
	if (left > 0)
		iw_json_u64(w, "left_ns", left);
	if (p->name)
		iw_json_text(w, "name", p->name, strlen(p->name));
	if (p->name && p->file_total > 0) {
		left = time_left(p->file_done, p->file_total, rate);
		iw_json_u64(w, "file_done_octets", p->file_done);
		iw_json_u64(w, "file_total_octets", p->file_total);
		if (left > 0)
			iw_json_u64(w, "file_left_ns", left);
	}
	end_object(r);
}

bool iw_report_shows_progress(const struct iw_report *r)
{
	return !r->silent && (r->cli->json || (!r->cli->quiet && r->on_terminal));
}

void iw_report_progress(struct iw_report *r, const struct iw_report_progress *p, uint64_t now)
{
	if (!iw_report_shows_progress(r))
		return;
	if (!r->bar_on) {
		iw_cli_progress_begin(&r->bar, r->cli->json ? -1 : STDERR_FILENO, r->what, 0,
				      p->total, now);
		r->bar_on = true;
	}
	if (!r->cli->json)
		name_bar(r, p, now);
	r->bar.total = p->total;
	/* Holes and octets of an earlier transfer take no time. */
	r->bar.found = p->done - IW_MIN(p->done, p->moved);
	iw_cli_progress_update(&r->bar, p->done, now);
	if (r->cli->json && now >= r->json_at) {
		r->json_at = iw_time_add(now, JSON_BEAT);
		progress_json(r, p, now);
	}
}

uint64_t iw_report_deadline(const struct iw_report *r, uint64_t now)
{
	if (json(r))
		return r->json_at;
	return r->bar_on && r->bar.on ? iw_time_add(now, BEAT) : IW_TIME_NEVER;
}

int iw_report_status(const struct iw_transfer_report *t)
{
	if (t->fault.err != IW_OK)
		return iw_exit_status(t->fault.err);
	return t->counts.files_failed > 0 || t->counts.peer_failed > 0 ? IW_EXIT_NO : IW_EXIT_OK;
}

/* Files that the sink already had. */
static uint64_t unchanged(const struct iw_xfer_counts *c)
{
	return c->files_same - IW_MIN(c->files_same, c->exist + c->newer);
}

static void transfer_json(struct iw_report *r, const struct iw_transfer_report *t)
{
	bool tcp = strcmp(r->cli->transport, "tcp") == 0;
	struct iw_json *w = &r->cli->out;

	iw_json_begin(w, "result");
	iw_json_str(w, "role", iw_xfer_role_name(t->role));
	iw_json_str(w, "mode", iw_xfer_mode_name(t->mode));
	iw_json_str(w, "transport", r->cli->transport);
	iw_json_str(w, "digest", iw_xfer_digest_name(t->digest));
	iw_json_bool(w, "complete", t->fault.err == IW_OK);
	iw_json_u64(w, "files_done", t->counts.files_done);
	iw_json_u64(w, "links", t->counts.links);
	iw_json_u64(w, "directories", t->counts.dirs);
	iw_json_u64(w, "files_same", unchanged(&t->counts));
	iw_json_u64(w, "files_kept", t->counts.exist + t->counts.newer);
	iw_json_u64(w, "files_excluded", t->counts.files_excluded);
	iw_json_u64(w, "files_failed", IW_MAX(t->counts.files_failed, t->counts.peer_failed));
	iw_json_u64(w, "removed", t->counts.gone);
	iw_json_u64(w, "not_listed", t->counts.stayed);
	if (t->dry_run)
		iw_json_bool(w, "dry_run", true);
	iw_json_u64(w, "content_octets", t->counts.settled);
	iw_json_u64(w, "moved_octets", t->counts.octets);
	iw_json_u64(w, "resumed_octets", t->counts.had);
	iw_json_u64(w, "zero_octets", t->counts.zeros);
	iw_json_u64(w, "duration_ns", t->duration_ns);
	iw_json_u64(w, "connections", t->connections);
	iw_json_u64(w, "redials", t->redials);
	iw_json_u64(w, "bits_per_second", iw_bits_per_second(t->counts.octets, t->duration_ns));
	iw_json_u64(w, "messages_sent", t->counts.msgs_sent);
	iw_json_u64(w, "messages_received", t->counts.msgs_received);
	iw_cli_facts_ends_json(w, t->info.local, t->peer);
	if (t->connections > 0) {
		iw_cli_facts_json(w, &t->info, tcp);
		iw_cli_facts_setup_json(w, &t->info, tcp);
		iw_cli_facts_tls_json(w, &t->tls);
	}
	iw_json_u64(w, "tx_octets", t->info.tx_octets);
	iw_json_u64(w, "rx_octets", t->info.rx_octets);
	iw_json_str(w, "version", iw_version());
	end_object(r);
}

/*
 * Returns " of the target" if an option of the target, not of this side, kept the files. A sink
 * cannot distinguish the two.
 */
static const char *whose(const struct iw_transfer_report *t, uint32_t opt)
{
	return t->role == IW_XFER_SOURCE && !(t->opts & opt) ? " of the target" : "";
}

/*
 * "2 kept: exist at the target (--no-clobber)". Returns its length; 0: --no-clobber and --update
 * kept no file.
 */
static int count_kept(char *buf, size_t cap, const struct iw_transfer_report *t, const char *before,
		      const char *unit)
{
	const struct iw_xfer_counts *c = &t->counts;
	int n = 0;

	buf[0] = '\0';
	if (c->exist > 0)
		n += snprintf(buf, cap,
			      "%s%" PRIu64 "%s%s kept: exist%s at the target (--no-clobber%s)",
			      before, c->exist, unit, unit[0] && c->exist > 1 ? "s" : "",
			      c->exist == 1 ? "s" : "", whose(t, IW_XFER_OPT_NO_CLOBBER));
	if (c->newer > 0)
		n += snprintf(buf + n, cap - (size_t)n,
			      "%s%" PRIu64 "%s%s kept: newer at the target (--update%s)",
			      n > 0 ? ", " : before, c->newer, unit,
			      unit[0] && c->newer > 1 ? "s" : "", whose(t, IW_XFER_OPT_UPDATE));
	return n;
}

/* "3 files, 2 unchanged, 1 FAILED" */
static void count_files(char *buf, size_t cap, const struct iw_transfer_report *t)
{
	const struct iw_xfer_counts *c = &t->counts;
	bool dry_run = t->dry_run;
	uint64_t failed = IW_MAX(c->files_failed, c->peer_failed);
	int n = snprintf(buf, cap, "%" PRIu64 " file%s%s", c->files_done,
			 c->files_done == 1 ? "" : "s", dry_run ? " would be sent" : "");

	if (unchanged(c) > 0)
		n += snprintf(buf + n, cap - (size_t)n, ", %" PRIu64 " unchanged", unchanged(c));
	n += count_kept(buf + n, cap - (size_t)n, t, ", ", "");
	if (c->files_excluded > 0)
		n += snprintf(buf + n, cap - (size_t)n, ", %" PRIu64 " left out",
			      c->files_excluded);
	if (c->gone > 0)
		n += snprintf(buf + n, cap - (size_t)n, ", %" PRIu64 " %s", c->gone,
			      dry_run ? "would be removed" : "removed");
	if (failed > 0)
		snprintf(buf + n, cap - (size_t)n, ", %" PRIu64 " FAILED", failed);
}

/* True if the target already was as requested. */
static bool changed_nothing(const struct iw_transfer_report *t)
{
	const struct iw_xfer_counts *c = &t->counts;

	return c->files_done == 0 && c->files_failed == 0 && c->peer_failed == 0 && c->gone == 0 &&
	       c->made == 0 && c->octets == 0 && !t->dry_run && c->files_same > 0;
}

/* True if the patterns excluded every file. */
static bool left_out_all(const struct iw_transfer_report *t)
{
	const struct iw_xfer_counts *c = &t->counts;

	return t->excluded && t->filter->n > 0 && c->files_done == 0 && c->files_same == 0 &&
	       c->files_failed == 0 && c->peer_failed == 0 && c->gone == 0;
}

static void print_left_out(const struct iw_transfer_report *t)
{
	const char *verb = t->role == IW_XFER_SOURCE ? "send" : "receive";
	char pattern[200];

	if (t->filter->n > 1) {
		printf("%s: nothing to %s: the --include and --exclude patterns leave no file\n",
		       t->peer, verb);
		return;
	}
	iw_printable(pattern, sizeof(pattern), t->filter->rules[0].pattern,
		     strlen(t->filter->rules[0].pattern), true);
	printf("%s: nothing to %s: --exclude '%s' leaves no file\n", t->peer, verb, pattern);
}

static void print_nothing(const struct iw_transfer_report *t)
{
	const struct iw_xfer_counts *c = &t->counts;
	uint64_t same = unchanged(c);
	char kept[KEPT_TEXT];

	printf("%s: nothing to do: ", t->peer);
	if (same > 0)
		printf("%" PRIu64 " file%s up to date", same, same == 1 ? " is" : "s are");
	count_kept(kept, sizeof(kept), t, same > 0 ? ", " : "", same > 0 ? "" : " file");
	printf("%s", kept);
	if (c->files_excluded > 0)
		printf(", %" PRIu64 " left out", c->files_excluded);
	printf("\n");
}

/* If standard output has the data, prints to standard error. */
static void print_stats(struct iw_report *r, const struct iw_transfer_report *t)
{
	const struct iw_xfer_counts *c = &t->counts;
	FILE *f = r->data_on_stdout ? stderr : stdout;
	const char *verb = t->dry_run                  ? "would be sent"
			   : t->role == IW_XFER_SOURCE ? "sent"
						       : "received";
	char content[IW_HUMAN_TEXT], moved[IW_HUMAN_TEXT], had[IW_HUMAN_TEXT], rate[IW_HUMAN_TEXT];
	uint64_t links = IW_MIN(c->links, c->files_done);

	fprintf(f,
		"files:       %" PRIu64 " %s, %" PRIu64 " unchanged, %" PRIu64 " kept, %" PRIu64
		" left out, %" PRIu64 " failed\nlinks:       %" PRIu64 "\ndirectories: %" PRIu64
		"\n",
		c->files_done - links, verb, unchanged(c), c->exist + c->newer, c->files_excluded,
		IW_MAX(c->files_failed, c->peer_failed), links, c->dirs);
	fprintf(f, "content:     %s, of which %s moved and %s found by resume\n",
		iw_human_size(content, c->settled), iw_human_size(moved, c->octets),
		iw_human_size(had, c->had));
	fprintf(f, "connections: %" PRIu64 ", of which %" PRIu64 " set up again\n", t->connections,
		t->redials);
	fprintf(f, "time:        %.2f s, %s\n", (double)t->duration_ns / 1e9,
		iw_human_rate(rate, iw_bits_per_second(c->octets, t->duration_ns)));
	if (!r->data_on_stdout)
		flush(r);
}

void iw_report_transfer(struct iw_report *r, const struct iw_transfer_report *t)
{
	char files[128 + KEPT_TEXT], size[IW_HUMAN_TEXT], rate[IW_HUMAN_TEXT];

	bar_end(r);
	end_cause(r);
	if (json(r)) {
		transfer_json(r, t);
	} else if (human(r) && t->fault.err == IW_OK && changed_nothing(t)) {
		print_nothing(t);
		flush(r);
	} else if (human(r) && t->fault.err == IW_OK && left_out_all(t)) {
		print_left_out(t);
		flush(r);
	} else if (human(r) && t->fault.err == IW_OK) {
		count_files(files, sizeof(files), t);
		printf("%s: %s", t->peer, files);
		if (t->counts.octets > 0)
			printf(", %s in %.2f s, %s", iw_human_size(size, t->counts.octets),
			       (double)t->duration_ns / 1e9,
			       iw_human_rate(rate,
					     iw_bits_per_second(t->counts.octets, t->duration_ns)));
		printf("\n");
		flush(r);
	}
	if (r->stats && !r->cli->json && !r->cli->quiet && !r->silent)
		print_stats(r, t);
}
