// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The options of encryption, and the credentials that they ask for. */
#include "cli/secure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/doctor.h"
#include "cli/identity.h"
#include "cli/option.h"
#include "cli/private_file.h"
#include "cli/psk_file.h"
#include "cli/text.h"
#include "cli/usage.h"
#include "os/addr.h"
#include "util/num.h"
#include "util/text.h"

#define PINS_MAX 1024

enum {
	/* No characters: long options only. Distinct from the keys of common options and of tools. */
	KEY_TLS = 0xc001,
	KEY_CERT,
	KEY_KEY,
	KEY_CA,
	KEY_PIN,
	KEY_PSK_FILE,
	KEY_REQUIRE,
	KEY_INSECURE,
	KEY_SHOW_KEY,
};

/* clang-format off */
static const struct argp_option options[] = {
	{ "tls", KEY_TLS, "yes|no", OPTION_ARG_OPTIONAL,
	  "Encrypt: TLS 1.3 over tcp, DTLS 1.2 over udp; without --ca, --pin and --psk-file, the first key of a peer is remembered and another one refused, as by ssh", 0 },
	{ "cert", KEY_CERT, "FILE", 0, "Certificate of this end and its chain, PEM (default: one that is made on first use)", 0 },
	{ "key", KEY_KEY, "FILE", 0, "Private key for --cert, PEM, not encrypted", 0 },
	{ "ca", KEY_CA, "FILE", 0, "The peer needs a certificate signed by one of these authorities, PEM", 0 },
	{ "pin", KEY_PIN, "SHA256:KEY", 0, "The peer must have this key, as --show-key prints it there; may be repeated", 0 },
	{ "psk-file", KEY_PSK_FILE, "FILE", 0, "Both ends must know the secret in FILE: a line of 32 to 128 hex digits", 0 },
	{ "require-encryption", KEY_REQUIRE, "yes|no", OPTION_ARG_OPTIONAL, "Refuse to connect, or to listen, without encryption", 0 },
	{ "insecure", KEY_INSECURE, NULL, 0, "Do not warn about a listener that other machines can use without authentication", 0 },
	{ "show-key", KEY_SHOW_KEY, NULL, 0, "Print this end's key, for --pin at a peer, then exit", 0 },
	{ 0 },
};
/* clang-format on */

static bool yes_or_no(const struct argp_state *state, const char *option, const char *arg)
{
	static const char *const words[] = { "yes", "no", NULL };

	return !arg || iw_cli_enum(state, option, arg, words) == 0;
}

static const char *file_name(const struct argp_state *state, const char *option, const char *arg)
{
	if (arg[0] == '\0')
		argp_error(state, "%s \"\": empty; expected the name of a file", option);
	return arg;
}

static void add_pin(struct iw_cli_secure *s, const char *arg, const struct argp_state *state)
{
	uint8_t(*pins)[IW_TLS_PIN_LEN] = realloc(s->pins, (s->npins + 1) * sizeof(*pins));
	char shown[100];

	if (pins)
		s->pins = pins;
	if (!pins || s->npins == PINS_MAX) {
		argp_error(state, "--pin: more than %d pins", PINS_MAX);
		return;
	}
	if (iw_cli_pin_parse(pins[s->npins], arg) != 0) {
		iw_printable(shown, sizeof(shown), arg, strlen(arg), true);
		argp_error(
			state,
			"--pin \"%s\": not a key; expected SHA256: and 43 characters, or 64 hex digits, as --show-key prints at the peer",
			shown);
		return;
	}
	s->npins++;
}

/* --- --show-key --- */

/* Finds the files of this end's certificate. */
static int own_files(const struct iw_cli_secure *s, struct iw_identity *own, const char **cert,
		     const char **key, struct iw_fault *why)
{
	int err = s->cert ? 0 : iw_identity_open(own, why), fd;

	if (err)
		return err;
	*cert = s->cert ? s->cert : own->cert;
	*key = s->cert ? s->key : own->key;
	fd = iw_private_open(*key, s->cert ? "--key" : "own key", why);
	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

static int show_key(const struct iw_cli_secure *s, struct iw_fault *why)
{
	struct iw_tls_attr attr = { .size = sizeof(attr) };
	uint8_t pin[IW_TLS_PIN_LEN];
	char text[IW_CLI_PIN_TEXT];
	struct iw_identity own;
	struct iw_tls *tls;
	int err = own_files(s, &own, &attr.cert_file, &attr.key_file, why);

	if (!err)
		err = iw_tls_new(&tls, &attr, why);
	if (err)
		return err;
	err = iw_tls_own_pin(tls, pin);
	iw_tls_free(tls);
	if (err)
		return iw_fail(why, err, "%s: %s", attr.cert_file, iw_err_text(err));
	iw_cli_pin_text(text, pin);
	printf("%s %s\n", text, attr.cert_file);
	return 0;
}

static void show_key_and_exit(const struct iw_cli_secure *s)
{
	struct iw_fault why = { 0 };
	int err = show_key(s, &why);

	iw_cli_parsed();
	if (err)
		iw_log_error("%s", why.text);
	exit(iw_exit_status(err));
}

/* --- options --- */

static void set_option(int key, char *arg, struct argp_state *state, struct iw_cli_secure *s)
{
	switch (key) {
	case KEY_TLS:
		s->tls = yes_or_no(state, "--tls", arg);
		return;
	case KEY_CERT:
		s->cert = file_name(state, "--cert", arg);
		break;
	case KEY_KEY:
		s->key = file_name(state, "--key", arg);
		break;
	case KEY_CA:
		s->ca = file_name(state, "--ca", arg);
		break;
	case KEY_PIN:
		add_pin(s, arg, state);
		break;
	case KEY_PSK_FILE:
		s->psk_file = file_name(state, "--psk-file", arg);
		break;
	case KEY_REQUIRE:
		s->require = yes_or_no(state, "--require-encryption", arg);
		return;
	case KEY_INSECURE:
		s->insecure = true;
		return;
	case KEY_SHOW_KEY:
		s->show_key = true;
		return;
	}
	s->tls = true;
}

static void check_pairs(const struct argp_state *state, const struct iw_cli_secure *s)
{
	const char *other = s->cert ? "--cert" : s->ca ? "--ca" : s->npins > 0 ? "--pin" : NULL;

	if (s->cert && !s->key)
		argp_error(state, "--cert %s: its private key is missing; add --key FILE", s->cert);
	if (s->key && !s->cert)
		argp_error(state, "--key %s: its certificate is missing; add --cert FILE", s->key);
	if (s->psk_file && other)
		argp_error(
			state,
			"--psk-file and %s exclude each other: a connection is authenticated by a secret or by certificates; leave out one",
			other);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct iw_cli_secure *s = state->input;

	if (key == ARGP_KEY_END) {
		check_pairs(state, s);
		if (s->show_key)
			show_key_and_exit(s);
		return 0;
	}
	if (key < KEY_TLS || key > KEY_SHOW_KEY)
		return ARGP_ERR_UNKNOWN;
	set_option(key, arg, state, s);
	s->given |= 1u << (key - KEY_TLS);
	return 0;
}

const struct argp iw_cli_secure_argp = { .options = options, .parser = parse };

void iw_cli_secure_init(struct iw_cli_secure *s)
{
	*s = (struct iw_cli_secure){ .insecure = false };
	iw_known_init(&s->known);
}

const char *iw_cli_secure_given(const struct iw_cli_secure *s)
{
	for (const struct argp_option *x = options; x->name; x++)
		if (s->given & 1u << (x->key - KEY_TLS))
			return x->name;
	return NULL;
}

void iw_cli_secure_check(const struct argp_state *state, const struct iw_cli_secure *s,
			 const char *transport)
{
	if (s->tls && strcmp(transport, "tcp") != 0 && strcmp(transport, "udp") != 0)
		argp_error(state,
			   "--%s: -t %s has no encryption; use -t tcp or udp, or add --tls=no",
			   iw_cli_secure_given(s), transport);
}

/* --- credentials --- */

static void forget(struct iw_cli_secure *s)
{
	iw_tls_free(s->creds);
	s->creds = NULL;
	s->peer[0] = '\0';
	s->complained = false;
	iw_known_fini(&s->known);
}

static int probe(struct iw_fault *why)
{
	static const uint8_t key[IW_TLS_PSK_MIN] = { 0 };
	const struct iw_tls_attr attr = { .size = sizeof(attr),
					  .psk = key,
					  .psk_len = sizeof(key) };
	struct iw_tls *tls = NULL;
	int err = iw_tls_new(&tls, &attr, why);

	iw_tls_free(tls);
	return err;
}

void iw_cli_secure_doctor(struct iw_doctor *d)
{
	iw_doctor_probe(d, "encryption", probe, NULL);
}

void iw_cli_secure_close(struct iw_cli_secure *s)
{
	forget(s);
	free(s->pins);
	s->pins = NULL;
	s->npins = 0;
}

bool iw_cli_secure_is_local(const struct iw_cli *cli, int listen_fd)
{
	struct iw_addr a[8];
	size_t n = 0;

	if (listen_fd > 0) {
		a[0] = (struct iw_addr){ .len = sizeof(a[0].in6) };
		return getsockname(listen_fd, &a[0].sa, &a[0].len) == 0 &&
		       iw_addr_is_loopback(&a[0]);
	}
	if (!cli->bind)
		return true;
	if (iw_addr_resolve(a, IW_ARRAY_LEN(a), &n, cli->bind, cli->port, NULL) != 0)
		return false;
	for (size_t i = 0; i < n; i++)
		if (!iw_addr_is_loopback(&a[i]))
			return false;
	return true;
}

bool iw_cli_secure_authenticates(const struct iw_cli_secure *s)
{
	return s->tls && (s->ca || s->npins > 0 || s->psk_file);
}

static void warn(const struct iw_cli_secure *s)
{
	if (iw_cli_secure_authenticates(s) || s->insecure)
		return;
	iw_log_warn(
		"any machine that reaches this listener may use it, and %s; with -t tcp and udp, --psk-file, --pin or --ca authenticates peers; --insecure hides this line",
		s->tls ? "its peers are not authenticated" : "the data are not encrypted");
}

static int open_psk(struct iw_cli_secure *s, struct iw_fault *why)
{
	struct iw_tls_attr attr = { .size = sizeof(attr) };
	struct iw_psk psk;
	int err = iw_psk_read(&psk, s->psk_file, why);

	if (err)
		return err;
	attr.psk = psk.key;
	attr.psk_len = psk.len;
	err = iw_tls_new(&s->creds, &attr, why);
	iw_psk_wipe(&psk);
	return err;
}

/* Finds the keys that the peer had before. */
static int open_known(struct iw_cli_secure *s, const char *peer, uint16_t port,
		      struct iw_fault *why)
{
	int err = iw_known_name(s->peer, peer, port, why);

	return err ? err : iw_known_find(&s->known, s->peer, why);
}

static int open_certs(struct iw_cli_secure *s, const char *peer, uint16_t port,
		      struct iw_fault *why)
{
	struct iw_tls_attr attr = { .size = sizeof(attr),
				    .ca_file = s->ca,
				    .pins = (const uint8_t(*)[IW_TLS_PIN_LEN])s->pins,
				    .npins = s->npins };
	struct iw_identity own;
	int err = own_files(s, &own, &attr.cert_file, &attr.key_file, why);

	if (!err && peer && !s->ca && s->npins == 0)
		err = open_known(s, peer, port, why);
	if (err)
		return err;
	/* The handshake refuses another key: nothing is sent to that peer. */
	if (s->known.npins > 0) {
		attr.pins = (const uint8_t(*)[IW_TLS_PIN_LEN])s->known.pins;
		attr.npins = s->known.npins;
	}
	return iw_tls_new(&s->creds, &attr, why);
}

int iw_cli_secure_open(struct iw_cli_secure *s, const char *peer, uint16_t port, bool loopback,
		       struct iw_fault *why)
{
	int err;

	forget(s);
	if (s->require && !s->tls)
		return iw_fail(
			why, IW_E_PERM,
			"--require-encryption: this %s would be plain; add --tls, or --require-encryption=no",
			peer ? "connection" : "listener");
	err = !s->tls ? 0 : s->psk_file ? open_psk(s, why) : open_certs(s, peer, port, why);
	if (!err && !peer && !loopback)
		warn(s);
	if (err)
		forget(s);
	return err;
}

/* --- the key of the peer --- */

/* As ssh does. */
static void complain(const struct iw_cli_secure *s, const char *seen)
{
	char key[IW_CLI_PIN_TEXT];

	iw_cli_pin_text(key, s->known.pins[0]);
	iw_log_error("%s: THE KEY OF THIS HOST HAS CHANGED", s->peer);
	iw_log_error(
		"Another machine may be answering in its place. Or its key was replaced: ask its administrator.");
	iw_log_error("its key now:    %s", seen);
	iw_log_error("remembered key: %s (%s:%zu)", key, s->known.path, s->known.first_line);
	iw_log_error("To accept a new key, remove that line: sed -i %zud '%s'", s->known.first_line,
		     s->known.path);
}

/* The connections of one run, all to the same peer, write the lines once. */
static int changed(struct iw_cli_secure *s, const char *seen, struct iw_fault *why)
{
	if (!s->complained)
		complain(s, seen);
	s->complained = true;
	return iw_fail(why, IW_E_TLS, "%s: its key is not the remembered one; nothing was sent",
		       s->peer);
}

static int remember(struct iw_cli_secure *s, const uint8_t pin[IW_TLS_PIN_LEN],
		    struct iw_fault *why)
{
	char key[IW_CLI_PIN_TEXT];
	bool added;
	int err = iw_known_add(&s->known, s->peer, pin, &added, why);

	/* Later handshakes of this run refuse another key. */
	for (size_t i = 0; i < s->known.npins && !err; i++)
		if (iw_tls_add_pin(s->creds, s->known.pins[i]) != 0)
			err = iw_fail(why, IW_E_NOMEM, "no memory for the key of %s", s->peer);
	if (err || !added)
		return err;
	iw_cli_pin_text(key, pin);
	iw_log_warn("%s: first connection: key %s remembered in %s", s->peer, key, s->known.path);
	return 0;
}

int iw_cli_secure_seen(struct iw_cli_secure *s, const struct iw_tls_info *info,
		       struct iw_fault *why)
{
	char key[IW_CLI_PIN_TEXT];
	int err = 0;

	if (!s->creds)
		return 0;
	if (!info)
		return iw_fail(why, IW_E_STATE, "the connection is not encrypted");
	if (s->peer[0] == '\0')
		return 0;
	if (!info->has_peer_pin)
		return iw_fail(why, IW_E_TLS, "%s: the peer has shown no key", s->peer);
	if (s->known.npins == 0)
		err = remember(s, info->peer_pin, why);
	if (err || iw_known_has(&s->known, info->peer_pin))
		return err;
	iw_cli_pin_text(key, info->peer_pin);
	return changed(s, key, why);
}

int iw_cli_secure_established(struct iw_cli_secure *s, const struct iw_qp *qp, struct iw_fault *why)
{
	struct iw_tls_info info = { .size = sizeof(info) };

	return iw_cli_secure_seen(s, s->creds && iw_qp_tls(qp, &info) == 0 ? &info : NULL, why);
}

void iw_cli_secure_failed(struct iw_cli_secure *s, struct iw_fault *why)
{
	uint8_t pin[IW_TLS_PIN_LEN];
	char key[IW_CLI_PIN_TEXT];
	const char *at = strstr(why->text, "SHA256:");

	if (why->err != IW_E_TLS || s->known.npins == 0 || !at)
		return;
	/* The text of the failure has the key that the peer has now. */
	snprintf(key, sizeof(key), "%s", at);
	if (iw_cli_pin_parse(pin, key) == 0 && !iw_known_has(&s->known, pin))
		(void)changed(s, key, why);
}
