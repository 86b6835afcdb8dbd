/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Facts of a connection, written in the same way by all tools: each fact has one key in JSON, with
 * its unit (iwarp-json(5)), and one label in text.
 *
 * tcp: the connection is MPA over TCP; facts of MPA are left out over SCTP.
 * All pointers are borrowed until the call returns. Threads: none; no state.
 */
#ifndef IW_CLI_CONN_FACTS_H
#define IW_CLI_CONN_FACTS_H

#include <stdbool.h>

#include <iwarp/verbs.h>

#include "cli/json.h"

struct iw_text;

/*
 * Fills *out with the encryption of an established connection. Returns false, and sets out->version
 * to NULL, if the connection is plain.
 */
bool iw_cli_facts_tls(struct iw_tls_info *out, const struct iw_qp *qp);

/* "local" and "peer": addresses and ports. Leaves out the one that is "" or NULL. */
void iw_cli_facts_ends_json(struct iw_json *w, const char *local, const char *peer);
/* CRC, markers and the sizes of segments. */
void iw_cli_facts_json(struct iw_json *w, const struct iw_qp_info *i, bool tcp);
/* What the set-up agreed on: revision, IRD, ORD and RTR (RFC 6581). */
void iw_cli_facts_setup_json(struct iw_json *w, const struct iw_qp_info *i, bool tcp);
/* What was sent and received. */
void iw_cli_facts_traffic_json(struct iw_json *w, const struct iw_qp_info *i, bool tcp);
/* Streams, adaptation indication and the addresses of the peer. */
void iw_cli_facts_assoc_json(struct iw_json *w, const struct iw_assoc_info *a);
/* The encryption. Writes nothing if the connection is plain. */
void iw_cli_facts_tls_json(struct iw_json *w, const struct iw_tls_info *i);

/* "MPA Rev 2, CRC on, markers off, EMSS 1448, MULPDU 1442, IRD 16, ORD 16, RTR read" */
void iw_cli_facts_text(struct iw_text *t, const struct iw_qp_info *i, bool tcp);
/*
 * "TLSv1.3 TLS_AES_128_GCM_SHA256, peer authenticated by PSK". An encrypted connection only. With
 * neither PSK, pin nor CA the text has the peer's key, which the tool compares with the known
 * hosts, or "peer not authenticated".
 */
void iw_cli_facts_tls_text(struct iw_text *t, const struct iw_tls_info *i);
/* "10 streams out, 10 in, adaptation indication 0x00000001 (DDP)" */
void iw_cli_facts_assoc_text(struct iw_text *t, const struct iw_assoc_info *a);
/* "address 192.0.2.1:9899, primary, path MTU 1500, round trip 30.0 us" */
void iw_cli_facts_path_text(struct iw_text *t, const struct iw_assoc_path_info *p);

#endif
