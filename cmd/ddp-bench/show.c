// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Writes the results of runs, as text or as JSON. */
#include "ddp-bench/show.h"

#include <inttypes.h>
#include <stdio.h>

#include "cli/cli.h"
#include "cli/conn_facts.h"
#include "cli/human.h"
#include "cli/table.h"
#include "cli/term.h"
#include "loader/interface.h"
#include "util/num.h"
#include "util/text.h"

/* --- calculated values ------------------------------------------------------------------------ */

static double cpu_seconds(const struct iw_bench_end *e)
{
	return (double)(e->used.user_ns + e->used.sys_ns) / 1e9;
}

/* Returns the CPU time of both ends for each GiB, in seconds; 0 if no octets were transferred. */
static double cpu_seconds_per_gib(const struct iw_bench_result *r)
{
	if (!r->octets)
		return 0;
	return (cpu_seconds(&r->client) + cpu_seconds(&r->server)) * 1073741824.0 /
	       (double)r->octets;
}

static uint64_t calls(const struct iw_bench_end *e)
{
	return e->used.tx_calls + e->used.rx_calls + e->used.waits;
}

static double calls_per_mib(const struct iw_bench_result *r)
{
	if (!r->octets)
		return 0;
	return (double)(calls(&r->client) + calls(&r->server)) * 1048576.0 / (double)r->octets;
}

double iw_bench_messages_per_second(const struct iw_bench_result *r)
{
	return r->duration_ns ? (double)r->messages * 1e9 / (double)r->duration_ns : 0;
}

uint64_t iw_bench_latency(const struct iw_bench_result *r, uint32_t millionths)
{
	return r->round_trips ? iw_hist_at(r->round_trips, millionths) / 2
			      : iw_hist_at(r->completions, millionths);
}

static bool has_latency(const struct iw_bench_result *r)
{
	return (r->round_trips ? r->round_trips : r->completions)->n > 0;
}

/* clang-format off */
static const struct {
	const char *name, *key;
	uint32_t millionths;
} percentiles[] = {
	{ "p50",    "p50_ns",    500000 },
	{ "p90",    "p90_ns",    900000 },
	{ "p99",    "p99_ns",    990000 },
	{ "p99.9",  "p999_ns",   999000 },
	{ "p99.99", "p9999_ns",  999900 },
	{ "max",    "max_ns",   1000000 },
};
/* clang-format on */

/* --- JSON ------------------------------------------------------------------------------------- */

static int interval_json(struct iw_json *w, const struct iw_bench_interval *iv)
{
	iw_json_begin(w, "interval");
	iw_json_u64(w, "start_ns", iv->start_ns);
	iw_json_u64(w, "end_ns", iv->end_ns);
	iw_json_u64(w, "octets", iv->octets);
	iw_json_u64(w, "messages", iv->messages);
	iw_json_u64(w, "bits_per_second",
		    iw_bits_per_second(iv->octets, iv->end_ns - iv->start_ns));
	return iw_json_end(w);
}

static void end_json(struct iw_json *w, const char *key, const struct iw_bench_end *e)
{
	iw_json_open_object(w, key);
	iw_json_u64(w, "window_ns", e->used.at_ns);
	iw_json_u64(w, "cpu_user_ns", e->used.user_ns);
	iw_json_u64(w, "cpu_sys_ns", e->used.sys_ns);
	iw_json_u64(w, "sleeps", e->used.switches);
	iw_json_u64(w, "tx_octets", e->used.tx_octets);
	iw_json_u64(w, "rx_octets", e->used.rx_octets);
	iw_json_u64(w, "tx_fpdus", e->used.tx_fpdus);
	iw_json_u64(w, "rx_fpdus", e->used.rx_fpdus);
	iw_json_u64(w, "tx_calls", e->used.tx_calls);
	iw_json_u64(w, "rx_calls", e->used.rx_calls);
	iw_json_u64(w, "waits", e->used.waits);
	iw_json_u64(w, "retransmits", e->used.retransmits);
	iw_json_str(w, "cc", e->cc[0] ? e->cc : NULL);
	iw_json_str(w, "kernel", e->kernel);
	iw_json_close(w);
}

/* Returns the path on which data is sent. */
static const struct iw_assoc_path_info *primary(const struct iw_assoc_info *a)
{
	for (unsigned i = 0; i < IW_MIN(a->npaths, (unsigned)IW_ASSOC_PATHS); i++)
		if (a->path[i].primary)
			return &a->path[i];
	return &a->path[0];
}

static void connection_json(struct iw_json *w, const struct iw_bench_result *r)
{
	bool tcp = r->assoc.in == 0;

	iw_cli_facts_ends_json(w, r->info.local, r->info.peer);
	iw_cli_facts_json(w, &r->info, tcp);
	iw_cli_facts_setup_json(w, &r->info, tcp);
	iw_cli_facts_tls_json(w, &r->tls);
	if (tcp)
		return;
	iw_cli_facts_assoc_json(w, &r->assoc);
	iw_json_u64(w, "stream", r->assoc.stream);
}

static void text_json(struct iw_json *w, const char *key, const char *text)
{
	iw_json_str(w, key, text[0] ? text : NULL);
}

void iw_bench_show_environment(struct iw_json *w, const struct iw_bench_environment *e)
{
	iw_json_open_object(w, "environment");
	text_json(w, "kernel", e->kernel);
	text_json(w, "machine", e->machine);
	text_json(w, "cpu", e->cpu);
	iw_json_u64(w, "cpus", e->cpus);
	text_json(w, "governor", e->governor);
	text_json(w, "tcp_cc", e->cc);
	text_json(w, "libbpf", e->libbpf);
	if (e->interface[0]) {
		iw_json_str(w, "interface", e->interface);
		text_json(w, "driver", e->driver);
		iw_json_u64(w, "mtu_octets", e->mtu);
		iw_json_open_object(w, "offloads");
		for (unsigned bit = 1; bit <= IW_XDP_TX_CSUM; bit <<= 1)
			iw_json_bool(w, iw_interface_offload_name((enum iw_xdp_offload)bit),
				     e->offloads & bit);
		iw_json_close(w);
	}
	if (e->xdp) {
		iw_json_str(w, "xdp_mode", e->native ? "native" : "generic");
		iw_json_bool(w, "zerocopy", e->zerocopy);
		iw_json_bool(w, "busy_poll", e->busy_poll);
		iw_json_bool(w, "multi_buffer", e->multi_buffer);
	}
	iw_json_close(w);
}

static void latency_json(struct iw_json *w, const struct iw_bench_result *r)
{
	iw_json_open_object(w, r->round_trips ? "half_round_trip" : "completion");
	for (size_t i = 0; i < IW_ARRAY_LEN(percentiles); i++)
		iw_json_u64(w, percentiles[i].key, iw_bench_latency(r, percentiles[i].millionths));
	if (r->round_trips)
		iw_json_u64(w, "round_trips", r->round_trips->n);
	iw_json_close(w);
}

static int result_json(const struct iw_bench_show *s, const struct iw_bench_result *r)
{
	struct iw_json *w = s->json;

	iw_json_begin(w, "result");
	iw_json_str(w, "mode", iw_bench_mode_names[r->mode]);
	iw_json_str(w, "transport", s->transport);
	iw_json_u64(w, "size_octets", r->size);
	iw_json_u64(w, "depth", r->depth);
	iw_json_u64(w, "connections", r->connections);
	iw_json_u64(w, "streams_used", r->streams);
	iw_json_str(w, "receiver", r->receiver_is_server ? "server" : "client");
	iw_json_u64(w, "duration_ns", r->duration_ns);
	iw_json_u64(w, "octets", r->octets);
	iw_json_u64(w, "messages", r->messages);
	iw_json_u64(w, "bits_per_second", iw_bits_per_second(r->octets, r->duration_ns));
	iw_json_f64(w, "messages_per_second", iw_bench_messages_per_second(r));
	if (has_latency(r))
		latency_json(w, r);
	if (r->octets) {
		iw_json_f64(w, "cpu_seconds_per_gib", cpu_seconds_per_gib(r));
		iw_json_f64(w, "calls_per_mib", calls_per_mib(r));
	}
	end_json(w, "client", &r->client);
	end_json(w, "server", &r->server);
	iw_json_u64(w, "server_clients", r->server_clients);
	if (r->connections * r->streams > 1)
		iw_json_f64(w, "fairness", r->fairness);
	connection_json(w, r);
	if (r->umem)
		iw_json_u64(w, "in_place_octets", r->in_place);
	if (r->loan) {
		iw_json_u64(w, "loans", r->loans);
		iw_json_u64(w, "copies", r->messages - r->loans);
	}
	iw_bench_show_environment(w, &r->environment);
	if (r->verdict != IW_BENCH_UNCHECKED)
		iw_json_bool(w, "verified", r->verdict == IW_BENCH_GOOD);
	iw_json_str(w, "mismatch", r->verdict == IW_BENCH_BAD ? r->mismatch : NULL);
	iw_json_str(w, "version", iw_version());
	return iw_json_end(w);
}

/* --- text ------------------------------------------------------------------------------------- */

static int interval_human(const struct iw_bench_interval *iv)
{
	char size[IW_HUMAN_TEXT], rate[IW_HUMAN_TEXT];

	printf("%6.1f s  %10s  %10" PRIu64 " messages  %s\n", (double)iv->end_ns / 1e9,
	       iw_human_size(size, iv->octets), iv->messages,
	       iw_human_rate(rate, iw_bits_per_second(iv->octets, iv->end_ns - iv->start_ns)));
	return iw_cli_flush();
}

static void add_connection(struct iw_table *t, const struct iw_bench_show *s,
			   const struct iw_bench_result *r)
{
	bool tcp = r->assoc.in == 0;
	struct iw_text text;
	char buf[200];

	iw_text_init(&text, buf, sizeof(buf));
	iw_cli_facts_text(&text, &r->info, tcp);
	iw_table_add(t, tcp ? "connection" : "association");
	iw_table_addf(t, "%s, %s", s->transport, buf);
	if (!tcp) {
		iw_text_init(&text, buf, sizeof(buf));
		iw_cli_facts_assoc_text(&text, &r->assoc);
		iw_table_add(t, "");
		iw_table_addf(t, "stream %u; %s", r->assoc.stream, buf);
		iw_text_init(&text, buf, sizeof(buf));
		iw_cli_facts_path_text(&text, primary(&r->assoc));
		iw_table_add(t, "");
		iw_table_add(t, buf);
	}
	iw_table_add(t, "");
	iw_table_addf(t, "congestion control %s and %s",
		      r->client.cc[0] ? r->client.cc : "the kernel's",
		      r->server.cc[0] ? r->server.cc : "the kernel's");
	if (r->connections * r->streams > 1) {
		iw_table_add(t, "");
		iw_table_addf(t, "the first of %u; each has %u stream%s in use", r->connections,
			      r->streams, r->streams == 1 ? "" : "s");
	}
	if (r->tls.version) {
		iw_text_init(&text, buf, sizeof(buf));
		iw_cli_facts_tls_text(&text, &r->tls);
		iw_table_add(t, "encryption");
		iw_table_add(t, buf);
	}
}

static void add_latency(struct iw_table *t, const struct iw_bench_result *r)
{
	char part[64], value[IW_HUMAN_TEXT];

	iw_table_add(t, r->round_trips ? "half round trip" : "post to completion");
	for (size_t k = 0; k < IW_ARRAY_LEN(percentiles); k++) {
		snprintf(part, sizeof(part), "%s %s", percentiles[k].name,
			 iw_human_latency(value, iw_bench_latency(r, percentiles[k].millionths)));
		if (k)
			iw_table_add(t, "");
		iw_table_add(t, part);
	}
}

static void add_environment(struct iw_table *t, const struct iw_bench_environment *e)
{
	iw_table_add(t, "this machine");
	iw_table_addf(t, "%s, %u processors, Linux %s", e->cpu[0] ? e->cpu : e->machine, e->cpus,
		      e->kernel);
	if (!e->interface[0])
		return;
	iw_table_add(t, "");
	iw_table_addf(t, "%s, MTU %u%s%s%s", e->interface, e->mtu,
		      e->offloads & IW_XDP_TSO ? "" : ", no TSO",
		      e->xdp ? (e->native ? ", native XDP" : ", generic XDP") : "",
		      e->xdp ? (e->zerocopy ? ", zero-copy" : ", copied") : "");
}

static const char *const verdicts[] = { "not verified", "verified", "WRONG DATA" };

static int result_human(const struct iw_bench_show *s, const struct iw_bench_result *r)
{
	uint32_t lanes = r->connections * r->streams;
	char a[IW_HUMAN_TEXT], b[IW_HUMAN_TEXT];
	struct iw_table t;
	int err;

	iw_table_init(&t, "ll");
	iw_table_add(&t, iw_bench_mode_names[r->mode]);
	iw_table_addf(&t, "%s, %.*f messages/s: %" PRIu64 " of %s in %.3f s, %s",
		      iw_human_rate(a, iw_bits_per_second(r->octets, r->duration_ns)),
		      iw_bench_messages_per_second(r) < 100 ? 2 : 0,
		      iw_bench_messages_per_second(r), r->messages, iw_human_size(b, r->size),
		      (double)r->duration_ns / 1e9, verdicts[r->verdict]);
	iw_table_add(&t, "receiver");
	iw_table_addf(&t, "the %s; duration and counts are its own",
		      r->receiver_is_server ? "server" : "client");
	if (has_latency(r))
		add_latency(&t, r);
	iw_table_add(&t, "CPU");
	iw_table_addf(&t, "client %.3f s, server %.3f s, %.3f s/GiB", cpu_seconds(&r->client),
		      cpu_seconds(&r->server), cpu_seconds_per_gib(r));
	if (r->server_clients > lanes) {
		iw_table_add(&t, "");
		iw_table_addf(&t,
			      "the server's is for %" PRIu64
			      " connections, %u of them of this client",
			      r->server_clients, lanes);
	}
	if (lanes > 1) {
		iw_table_add(&t, "fairness");
		iw_table_addf(&t, "%.3f (1: every one of the %u moved as many octets)", r->fairness,
			      lanes);
	}
	iw_table_add(&t, r->assoc.in ? "segments" : "FPDUs");
	iw_table_addf(&t, "%" PRIu64 " out, %" PRIu64 " in", r->client.used.tx_fpdus,
		      r->client.used.rx_fpdus);
	if (r->loan) {
		iw_table_add(&t, "loans");
		iw_table_addf(&t, "%" PRIu64 " read where they arrived, %" PRIu64 " copied",
			      r->loans, r->messages - r->loans);
	}
	iw_table_add(&t, "system calls");
	iw_table_addf(&t,
		      "%.1f/MiB; send, receive, wait: client %" PRIu64 ", %" PRIu64 ", %" PRIu64
		      "; server %" PRIu64 ", %" PRIu64 ", %" PRIu64,
		      calls_per_mib(r), r->client.used.tx_calls, r->client.used.rx_calls,
		      r->client.used.waits, r->server.used.tx_calls, r->server.used.rx_calls,
		      r->server.used.waits);
	add_connection(&t, s, r);
	iw_table_add(&t, "retransmitted");
	iw_table_addf(&t, "%" PRIu64 " %s by the client, %" PRIu64 " by the server",
		      r->client.used.retransmits, r->assoc.in ? "chunks" : "segments",
		      r->server.used.retransmits);
	add_environment(&t, &r->environment);
	err = iw_table_write(&t, stdout, iw_cli_columns(1));
	iw_table_fini(&t);
	return err;
}

/* Columns of fixed width: each row is printed before the next one is known. */
#define ROW "%10s %11s %12s %9s %9s %9s %9s %8s %9s  %s\n"

void iw_bench_show_head(const struct iw_bench_show *s)
{
	if (s->json || !s->rows)
		return;
	printf(ROW, "size", "rate", "messages/s", "p50", "p99", "p99.9", "p99.99", "CPU s/GiB",
	       "calls/MiB", "data");
}

static int result_row(const struct iw_bench_result *r)
{
	char size[IW_HUMAN_TEXT], rate[IW_HUMAN_TEXT], per_second[32], cpu[32], n[32];
	char at[4][IW_HUMAN_TEXT];

	for (int i = 0; i < 4; i++)
		iw_human_latency(at[i], iw_bench_latency(r, percentiles[i ? i + 1 : 0].millionths));
	snprintf(per_second, sizeof(per_second), "%.0f", iw_bench_messages_per_second(r));
	snprintf(cpu, sizeof(cpu), "%.3f", cpu_seconds_per_gib(r));
	snprintf(n, sizeof(n), "%.1f", calls_per_mib(r));
	printf(ROW, iw_human_size(size, r->size),
	       iw_human_rate(rate, iw_bits_per_second(r->octets, r->duration_ns)), per_second,
	       at[0], at[1], at[2], at[3], cpu, n, verdicts[r->verdict]);
	return iw_cli_flush();
}

/* --- text or JSON ----------------------------------------------------------------------------- */

int iw_bench_show_interval(const struct iw_bench_show *s, const struct iw_bench_interval *iv)
{
	if (s->json)
		return interval_json(s->json, iv);
	if (!s->quiet && !s->rows)
		return interval_human(iv);
	return 0;
}

int iw_bench_show_result(const struct iw_bench_show *s, const struct iw_bench_result *r)
{
	if (s->json)
		return result_json(s, r);
	if (!s->rows)
		return result_human(s, r);
	return result_row(r);
}

int iw_bench_show_listening(const struct iw_bench_show *s, const struct iw_bench_server *server,
			    bool reachable)
{
	const struct iw_listener *l = iw_bench_server_listener(server);
	uint16_t udp_port = iw_listener_udp_port(l);
	char udp[32] = "";

	if (udp_port)
		snprintf(udp, sizeof(udp), ", UDP port %u", (unsigned)udp_port);
	if (!s->json) {
		if (!s->quiet || s->any_port)
			printf("listening on %s%s%s\n", iw_listener_addr(l), udp,
			       reachable ? "" : ", for this machine only: --bind ADDR for others");
		return iw_cli_flush();
	}
	iw_json_begin(s->json, "listening");
	iw_json_str(s->json, "transport", s->transport);
	iw_json_str(s->json, "address", iw_listener_addr(l));
	iw_json_u64(s->json, "port", iw_listener_port(l));
	if (udp_port)
		iw_json_u64(s->json, "udp_port", udp_port);
	return iw_json_end(s->json);
}

static int news_json(struct iw_json *w, const struct iw_bench_news *n)
{
	static const char *const events[] = { "stopped", "client", "served", "refused" };

	iw_json_begin(w, events[n->kind]);
	if (n->kind != IW_BENCH_STOPPED)
		iw_json_str(w, "peer", n->peer);
	if (n->kind == IW_BENCH_CAME || n->kind == IW_BENCH_LEFT) {
		iw_json_str(w, "mode", iw_bench_mode_names[n->mode]);
		iw_json_u64(w, "size_octets", n->size);
		iw_json_u64(w, "depth", n->depth);
	}
	if (n->kind == IW_BENCH_LEFT) {
		iw_json_u64(w, "rx_octets", n->rx_octets);
		iw_json_u64(w, "tx_octets", n->tx_octets);
	}
	if (n->fault.err) {
		iw_json_str(w, "error", iw_err_name(n->fault.err));
		iw_json_str(w, "text", n->fault.text);
	}
	return iw_json_end(w);
}

static int news_human(const struct iw_bench_news *n)
{
	char size[IW_HUMAN_TEXT], rx[IW_HUMAN_TEXT], tx[IW_HUMAN_TEXT];

	switch (n->kind) {
	case IW_BENCH_STOPPED:
		break;
	case IW_BENCH_CAME:
		printf("%s: %s, %u message%s of %s outstanding\n", n->peer,
		       iw_bench_mode_names[n->mode], n->depth, n->depth == 1 ? "" : "s",
		       iw_human_size(size, n->size));
		break;
	case IW_BENCH_LEFT:
		printf("%s: received %s, sent %s%s%s\n", n->peer, iw_human_size(rx, n->rx_octets),
		       iw_human_size(tx, n->tx_octets), n->fault.err ? "; " : "", n->fault.text);
		break;
	case IW_BENCH_TURNED_AWAY:
		printf("%s: refused: %s\n", n->peer, n->fault.text);
		break;
	}
	return iw_cli_flush();
}

int iw_bench_show_news(const struct iw_bench_show *s, const struct iw_bench_news *n)
{
	if (s->json)
		return news_json(s->json, n);
	if (!s->quiet)
		return news_human(n);
	return 0;
}
