// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Writes lines in the form of ping(8) and a table of statistics, or the same facts as JSON. */
#include "sctp-ddp-ping/show.h"

#include <inttypes.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/conn_facts.h"
#include "cli/human.h"
#include "cli/listener.h"
#include "cli/log.h"
#include "cli/table.h"
#include "cli/text.h"
#include "util/text.h"

#define FACTS_TEXT 200

/* --- the association -------------------------------------------------------------------------- */

static const char *assoc_text(char buf[static FACTS_TEXT], const struct iw_assoc_info *a)
{
	struct iw_text t;

	iw_text_init(&t, buf, FACTS_TEXT);
	iw_cli_facts_assoc_text(&t, a);
	return buf;
}

static void show_paths(const struct iw_assoc_info *a)
{
	char buf[FACTS_TEXT];
	struct iw_text t;

	for (unsigned i = 0; i < a->npaths; i++) {
		iw_text_init(&t, buf, sizeof(buf));
		iw_cli_facts_path_text(&t, &a->path[i]);
		printf("  %s\n", buf);
	}
}

static void show_encryption(const struct iw_tls_info *tls)
{
	char buf[FACTS_TEXT];
	struct iw_text t;

	if (!tls->version)
		return;
	iw_text_init(&t, buf, sizeof(buf));
	iw_cli_facts_tls_text(&t, tls);
	printf("  %s\n", buf);
}

static int show_up(const struct iw_ping_show *s, const struct iw_ping *p)
{
	const struct iw_assoc_info *a = iw_ping_assoc(p);
	const struct iw_qp_info *i = iw_ping_session(p);
	char text[FACTS_TEXT];

	if (s->json) {
		iw_json_begin(s->json, "association");
		iw_json_str(s->json, "transport", s->transport);
		iw_cli_facts_ends_json(s->json, i->local, i->peer);
		iw_cli_facts_assoc_json(s->json, a);
		iw_cli_facts_tls_json(s->json, iw_ping_tls(p));
		return iw_json_end(s->json);
	}
	if (s->quiet)
		return 0;
	printf("association with %s over %s: %s\n", i->peer, s->transport, assoc_text(text, a));
	show_paths(a);
	show_encryption(iw_ping_tls(p));
	if (a->xdp_mode)
		iw_log_info("%s: XDP %s", i->peer, a->xdp_mode);
	return 0;
}

/* --- events ----------------------------------------------------------------------------------- */

static int show_ready(const struct iw_ping_show *s, const struct iw_ping *p)
{
	const struct iw_qp_info *i = iw_ping_session(p);
	char text[FACTS_TEXT];
	struct iw_text t;

	if (s->json) {
		iw_json_begin(s->json, "sessions");
		iw_json_u64(s->json, "sessions", iw_ping_streams(p));
		iw_json_u64(s->json, "size_octets", s->size);
		iw_cli_facts_json(s->json, i, false);
		iw_cli_facts_setup_json(s->json, i, false);
		return iw_json_end(s->json);
	}
	if (s->quiet)
		return 0;
	iw_text_init(&t, text, sizeof(text));
	iw_cli_facts_text(&t, i, false);
	printf("%u DDP stream session%s, messages of %u octets, %s\n", iw_ping_streams(p),
	       iw_ping_streams(p) == 1 ? "" : "s", s->size, text);
	return 0;
}

static int show_mtu(const struct iw_ping_show *s, uint32_t mtu)
{
	if (!s->mtu)
		return 0;
	if (s->json) {
		iw_json_begin(s->json, "path_mtu");
		iw_json_u64(s->json, "path_mtu_octets", mtu);
		return iw_json_end(s->json);
	}
	if (!s->quiet)
		printf("path MTU %u\n", mtu);
	return 0;
}

static int show_reply(const struct iw_ping_show *s, const struct iw_ping *p,
		      const struct iw_ping_event *n)
{
	char time[IW_HUMAN_TEXT];

	if (!s->replies)
		return 0;
	if (s->json) {
		iw_json_begin(s->json, "reply");
		iw_json_u64(s->json, "stream", n->stream);
		iw_json_u64(s->json, "number", n->number);
		iw_json_u64(s->json, "rtt_ns", n->rtt_ns);
		return iw_json_end(s->json);
	}
	if (!s->quiet)
		printf("%u octets from %s: stream=%u seq=%" PRIu64 " time=%s\n", s->size,
		       iw_ping_session(p)->peer, n->stream, n->number,
		       iw_human_latency(time, n->rtt_ns));
	return 0;
}

int iw_ping_show_event(const struct iw_ping_show *s, const struct iw_ping *p,
		       const struct iw_ping_event *n)
{
	int err = 0;

	switch (n->kind) {
	case IW_PING_UP:
		err = show_up(s, p);
		break;
	case IW_PING_READY:
		err = show_ready(s, p);
		break;
	case IW_PING_MTU:
		err = show_mtu(s, n->mtu);
		break;
	case IW_PING_REPLY:
		err = show_reply(s, p, n);
		break;
	case IW_PING_DONE:
		break;
	}
	return err ? err : iw_cli_flush();
}

/* --- statistics ------------------------------------------------------------------------------- */

static void figures_json(struct iw_json *w, const struct iw_ping_figures *f)
{
	iw_json_u64(w, "sent", f->sent);
	iw_json_u64(w, "replies", f->received);
	iw_json_u64(w, "lost", f->lost);
	iw_json_u64(w, "late", f->late);
	if (f->received == 0)
		return;
	iw_json_u64(w, "min_ns", f->min);
	iw_json_u64(w, "avg_ns", f->avg);
	iw_json_u64(w, "p50_ns", f->p50);
	iw_json_u64(w, "p99_ns", f->p99);
	iw_json_u64(w, "max_ns", f->max);
	iw_json_u64(w, "jitter_ns", f->jitter);
}

static int result_json(const struct iw_ping_show *s, const struct iw_ping *p,
		       const struct iw_fault *why, int status)
{
	const struct iw_assoc_info *a = iw_ping_assoc(p);
	struct iw_json *w = s->json;
	struct iw_ping_figures f;

	iw_json_begin(w, "result");
	iw_json_str(w, "transport", s->transport);
	iw_json_u64(w, "size_octets", s->size);
	iw_ping_figures(&f, iw_ping_stat_all(p));
	figures_json(w, &f);
	iw_json_open_array(w, "streams");
	for (uint32_t i = 0; i < iw_ping_streams(p); i++) {
		iw_ping_figures(&f, iw_ping_stat_of(p, i));
		iw_json_open_object(w, NULL);
		iw_json_u64(w, "stream", i);
		figures_json(w, &f);
		iw_json_close(w);
	}
	iw_json_close(w);
	if (iw_ping_streams(p) > 0) {
		iw_cli_facts_json(w, iw_ping_session(p), false);
		iw_cli_facts_setup_json(w, iw_ping_session(p), false);
		iw_cli_facts_tls_json(w, iw_ping_tls(p));
	}
	if (a->npaths) {
		iw_json_u64(w, "retransmits", a->retransmits);
		iw_cli_facts_assoc_json(w, a);
	}
	if (why->err) {
		iw_json_str(w, "answer", iw_far_end_name(iw_ping_far_end(why, a->npaths > 0)));
		iw_json_str(w, "error", iw_err_name(why->err));
		iw_json_str(w, "text", why->text);
	}
	iw_json_i64(w, "exit_status", status);
	return iw_json_end(w);
}

static void add_row(struct iw_table *t, const struct iw_ping_figures *f)
{
	const uint64_t times[] = { f->min, f->avg, f->p50, f->p99, f->max, f->jitter };
	char text[IW_HUMAN_TEXT];

	iw_table_addf(t, "%" PRIu64, f->sent);
	iw_table_addf(t, "%" PRIu64, f->received);
	iw_table_addf(t, "%" PRIu64, f->lost);
	iw_table_addf(t, "%" PRIu64, f->late);
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		iw_table_add(t, f->received ? iw_human_latency(text, times[i]) : "-");
}

static int show_table(const struct iw_ping *p)
{
	static const char *const heads[] = { "stream", "sent", "replies", "lost", "late",  "min",
					     "avg",    "p50",  "p99",     "max",  "jitter" };
	struct iw_ping_figures f;
	struct iw_table t;
	int err;

	iw_table_init(&t, "rrrrrrrrrrr");
	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
		iw_table_add(&t, heads[i]);
	for (uint32_t i = 0; i < iw_ping_streams(p) && iw_ping_streams(p) > 1; i++) {
		iw_ping_figures(&f, iw_ping_stat_of(p, i));
		iw_table_addf(&t, "%u", i);
		add_row(&t, &f);
	}
	iw_ping_figures(&f, iw_ping_stat_all(p));
	iw_table_add(&t, "all");
	add_row(&t, &f);
	err = iw_table_write(&t, stdout, 0);
	iw_table_fini(&t);
	return err;
}

int iw_ping_show_result(const struct iw_ping_show *s, const struct iw_ping *p,
			const struct iw_fault *why, int status)
{
	const struct iw_assoc_info *a = iw_ping_assoc(p);
	int err;

	if (s->json)
		return result_json(s, p, why, status);
	if (iw_ping_streams(p) == 0)
		return 0;
	printf("--- %s over %s ---\n", s->host, s->transport);
	err = show_table(p);
	if (a->npaths)
		printf("retransmitted chunks: %" PRIu64 "\n", a->retransmits);
	if (s->mtu)
		show_paths(a);
	return err;
}

/* --- rejections, sessions, the far end -------------------------------------------------------- */

/* True if the text of why contains the Private Data, or names the listener that sent it. */
static bool is_explained(const struct iw_fault *why, const uint8_t *pd, size_t len)
{
	return iw_cli_listener(pd, len) || memmem(why->text, strlen(why->text), pd, len);
}

int iw_ping_show_rejected(const struct iw_ping_show *s, const struct iw_fault *why,
			  const uint8_t *pd, size_t len)
{
	char text[4 * IW_PRIVATE_DATA_MAX + 1];

	if (s->json) {
		iw_json_begin(s->json, "rejected");
		iw_json_text(s->json, "private_data", pd, len);
		return iw_json_end(s->json);
	}
	if (is_explained(why, pd, len))
		return 0;
	iw_printable(text, sizeof(text), (const char *)pd, len, true);
	printf("session rejected, with %zu octets of Private Data: %s\n", len, text);
	return 0;
}

int iw_ping_show_listening(const struct iw_ping_show *s, const struct iw_ping_server *server,
			   bool by_default)
{
	const struct iw_listener *l = iw_ping_server_listener(server);
	uint16_t udp_port = iw_listener_udp_port(l);
	char udp[32] = "";

	if (s->json) {
		iw_json_begin(s->json, "listening");
		iw_json_str(s->json, "transport", s->transport);
		iw_json_str(s->json, "address", iw_listener_addr(l));
		iw_json_u64(s->json, "port", iw_listener_port(l));
		if (udp_port)
			iw_json_u64(s->json, "udp_port", udp_port);
		return iw_json_end(s->json);
	}
	if (udp_port)
		snprintf(udp, sizeof(udp), ", UDP port %u", (unsigned)udp_port);
	if (!s->quiet || s->any_port)
		printf("listening on %s over %s%s%s\n", iw_listener_addr(l), s->transport, udp,
		       by_default ? ", for this machine only: --bind ADDR for others" : "");
	return iw_cli_flush();
}

int iw_ping_show_server_event(const struct iw_ping_show *s, const struct iw_ping_server_event *v)
{
	static const char *const events[] = { "stopped", "session", "served", "refused" };

	if (s->json) {
		iw_json_begin(s->json, events[v->kind]);
		if (v->kind != IW_PING_STOPPED) {
			iw_json_str(s->json, "peer", v->peer);
			iw_json_u64(s->json, "stream", v->stream);
			iw_json_u64(s->json, "size_octets", v->size);
		}
		if (v->kind == IW_PING_OPENED || v->kind == IW_PING_CLOSED)
			iw_json_u64(s->json, "rev", v->rev);
		if (v->kind == IW_PING_CLOSED)
			iw_json_u64(s->json, "messages", v->echoed);
		if (v->fault.err) {
			iw_json_str(s->json, "error", iw_err_name(v->fault.err));
			iw_json_str(s->json, "text", v->fault.text);
		}
		return iw_json_end(s->json);
	}
	if (s->quiet)
		return 0;
	if (v->kind == IW_PING_CLOSED)
		printf("%s stream %u: %" PRIu64 " messages of up to %u octets%s%s\n", v->peer,
		       v->stream, v->echoed, v->size, v->fault.err ? "; " : "",
		       v->fault.err ? v->fault.text : "");
	if (v->kind == IW_PING_REFUSED)
		printf("%s: refused: %s\n", v->peer, v->fault.text);
	return iw_cli_flush();
}

static const char *diagnosis_text(const struct iw_ping_diagnosis *d)
{
	switch (d->what) {
	case IW_FAR_ANSWERS:
		return "answers";
	case IW_FAR_OTHER:
		return "speaks DDP, but sent no reply";
	case IW_FAR_REJECTED:
		return "speaks DDP, and rejected the session";
	case IW_FAR_NO_DDP:
		return "speaks SCTP, but not DDP";
	case IW_FAR_ABORT:
		return "answers with ABORT: the host has SCTP, but no listener at this port";
	case IW_FAR_ICMP:
		return "answers with ICMP: no SCTP is received there over this transport";
	case IW_FAR_SILENT:
		return "no answer";
	case IW_FAR_NOT_TRIED:
		return "not tried";
	}
	return "";
}

static int diagnosis_json(struct iw_json *w, const struct iw_ping_diagnosis *d)
{
	iw_json_begin(w, "far_end");
	iw_json_str(w, "transport", d->transport);
	iw_json_str(w, "answer", iw_far_end_name(d->what));
	if (d->fault.err)
		iw_json_str(w, "text", d->fault.text);
	if (d->what == IW_FAR_ANSWERS)
		iw_json_u64(w, "rtt_ns", d->rtt_ns);
	if (d->private_data_len)
		iw_json_text(w, "private_data", d->private_data, d->private_data_len);
	if (d->assoc.npaths)
		iw_cli_facts_assoc_json(w, &d->assoc);
	return iw_json_end(w);
}

int iw_ping_show_diagnosis(const struct iw_ping_show *s, const struct iw_ping_diagnosis *d)
{
	char text[4 * IW_PRIVATE_DATA_MAX + 1], rtt[IW_HUMAN_TEXT];

	if (s->json)
		return diagnosis_json(s->json, d);
	printf("%s -t %s: %s", s->host, d->transport, diagnosis_text(d));
	if (d->what == IW_FAR_ANSWERS)
		printf(", round trip %s", iw_human_latency(rtt, d->rtt_ns));
	if (d->private_data_len && !is_explained(&d->fault, d->private_data, d->private_data_len)) {
		iw_printable(text, sizeof(text), (const char *)d->private_data, d->private_data_len,
			     true);
		printf(" with Private Data: %s", text);
	} else if (d->fault.err) {
		/* It may contain the peer's Private Data. */
		iw_printable(text, sizeof(text), d->fault.text, strlen(d->fault.text), true);
		printf(" (%s)", text);
	}
	putchar('\n');
	if (d->assoc.npaths) {
		printf("  %s\n", assoc_text(text, &d->assoc));
		show_paths(&d->assoc);
	}
	return iw_cli_flush();
}
