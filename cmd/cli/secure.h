/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Encryption of connections: the options, an argp child for the tools that open connections; the
 * keys and certificates of this user; and the keys of peers, remembered as ssh does.
 *
 *   iw_cli_secure_init()           before parsing
 *   iw_cli_secure_open()           after parsing: credentials for one peer or for a listener
 *   iw_cli_secure_established()    when a connection is up, before anything is posted on it
 *   iw_cli_secure_failed()         when a connection has ended with a failure
 *   iw_cli_secure_close()
 */
#ifndef IW_CLI_SECURE_H
#define IW_CLI_SECURE_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <iwarp/verbs.h>

#include "cli/cli.h"
#include "cli/known_hosts.h"

struct iw_cli_secure {
	bool tls; /* --tls, or an option that implies it; the last of them and --tls=no wins */
	const char *cert, *key, *ca, *psk_file;
	uint8_t (*pins)[IW_TLS_PIN_LEN]; /* --pin, in order; owned */
	size_t npins;
	bool require;   /* --require-encryption: refuse a plain connection */
	bool insecure;  /* --insecure: no warning about a listener without authentication */
	bool show_key;  /* --show-key */
	unsigned given; /* a bit for each option that was given */
	/* After iw_cli_secure_open; NULL: plain. For tls of struct iw_endpoint_attr. */
	struct iw_tls *creds;
	/* An initiator that compares the key of the peer with the remembered ones; else "". */
	char peer[IW_KNOWN_NAME];
	struct iw_known_hosts known; /* no keys: the peer is not known yet */
	bool complained;             /* about a changed key */
};

/* The input is a struct iw_cli_secure. */
extern const struct argp iw_cli_secure_argp;

/* Sets the defaults. Call it before parsing. */
void iw_cli_secure_init(struct iw_cli_secure *s);
/*
 * Call at the end of parsing: options that contradict each other or the transport end the tool with
 * a message.
 */
void iw_cli_secure_check(const struct argp_state *state, const struct iw_cli_secure *s,
			 const char *transport);
/* Returns the first option that was given, without its hyphens, such as "tls". NULL: none. */
const char *iw_cli_secure_given(const struct iw_cli_secure *s);
/* True if the peer must prove who it is, by other means than a remembered key. */
bool iw_cli_secure_authenticates(const struct iw_cli_secure *s);
/*
 * True if only this machine can reach the listener of these options. listen_fd: its socket, if the
 * tool was given one; else 0.
 */
bool iw_cli_secure_is_local(const struct iw_cli *cli, int listen_fd);
/*
 * Reads the keys, and sets s->creds. Makes this user's key and certificate if they are needed and
 * do not exist. peer: the host to connect to, with port; NULL: a listener. Warns (cli/log.h) about
 * a listener on another address than loopback without authentication of its peers, unless
 * --insecure; loopback: whether the listener uses a loopback address. May be called again for
 * another peer.
 * IW_E_PERM: --require-encryption without encryption; a private key or a PSK that other users can
 * read. IW_E_INVAL, IW_E_NOENT, IW_E_OS, IW_E_NOTSUP: as iw_tls_new, and for the PSK file. *why
 * names the file, what was expected and what to do.
 */
IW_MUST_CHECK int iw_cli_secure_open(struct iw_cli_secure *s, const char *peer, uint16_t port,
				     bool loopback, struct iw_fault *why);
/*
 * Initiator: compares the key of the peer with the remembered ones, and remembers a new one. Without
 * credentials it does nothing; if the peer was authenticated in another way, it only checks that the
 * connection is encrypted. IW_E_TLS: the key has changed; end the connection, and report *why; the
 * lines with both keys, the file and the line have been written (cli/log.h). IW_E_STATE: not
 * encrypted. IW_E_OS, IW_E_TIMEOUT, IW_E_NOMEM: the key cannot be remembered.
 */
IW_MUST_CHECK int iw_cli_secure_established(struct iw_cli_secure *s, const struct iw_qp *qp,
					    struct iw_fault *why);
/* The same for a connection without a queue pair. info: of its encryption; NULL: plain. */
IW_MUST_CHECK int iw_cli_secure_seen(struct iw_cli_secure *s, const struct iw_tls_info *info,
				     struct iw_fault *why);
/*
 * Call before the failure of a connection is reported. If the handshake was refused because the key
 * of the peer has changed, writes the same lines, and replaces the text of *why. Otherwise changes
 * nothing.
 */
void iw_cli_secure_failed(struct iw_cli_secure *s, struct iw_fault *why);
void iw_cli_secure_close(struct iw_cli_secure *s);
/* For --doctor (doctor_needs): reports whether this build can encrypt. */
void iw_cli_secure_doctor(struct iw_doctor *d);

/* "SHA256:" and 43 characters of base64 without padding, as ssh prints keys; with the zero. */
#define IW_CLI_PIN_TEXT 51
void iw_cli_pin_text(char out[IW_CLI_PIN_TEXT], const uint8_t pin[IW_TLS_PIN_LEN]);
/* Parses that form, or 64 hex digits. IW_E_INVAL. */
IW_MUST_CHECK int iw_cli_pin_parse(uint8_t pin[IW_TLS_PIN_LEN], const char *text);

#endif
