// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The keys of peers that this user has connected to. */
#include "cli/known_hosts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/parse.h"
#include "cli/secure.h"
#include "os/os.h"
#include "util/text.h"

#define LINE_TEXT (IW_KNOWN_NAME + IW_CLI_PIN_TEXT + 64)

/* --- lines --- */

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static bool is_of_name(char c)
{
	return (unsigned char)c > ' ' && c != 0x7f;
}

/* "[HOST]:PORT" has a valid port. Other text has no brackets. */
static bool has_good_port(const char *name, size_t len)
{
	const char *close = memchr(name, ']', len), *why;
	size_t digits = close ? (size_t)(name + len - close) : 0;
	char port[6];
	uint64_t v;

	if (name[0] != '[')
		return !close;
	if (!close || close == name + 1 || digits < 3 || digits > 2 + 5 || close[1] != ':')
		return false;
	memcpy(port, close + 2, digits - 2);
	port[digits - 2] = '\0';
	return iw_parse_u64(&v, port, 1, UINT16_MAX, &why) == 0;
}

static const char *parse_key(uint8_t pin[IW_TLS_PIN_LEN], const char *text, size_t len)
{
	char key[IW_CLI_PIN_TEXT];

	if (len != sizeof(key) - 1)
		return "the key does not have the form SHA256: and 43 characters";
	memcpy(key, text, len);
	key[len] = '\0';
	return strlen(key) == len && iw_cli_pin_parse(pin, key) == 0
		       ? NULL
		       : "the key does not have the form SHA256: and 43 characters";
}

static const char *parse_line(struct iw_known_line *out, const char *text, size_t len)
{
	size_t n = 0, at;

	while (len > 0 && (is_blank(text[len - 1]) || text[len - 1] == '\r'))
		len--;
	if (len == 0 || text[0] == '#')
		return NULL;
	while (n < len && is_of_name(text[n]))
		n++;
	if (n == 0 || n >= IW_KNOWN_NAME)
		return n == 0 ? "the line does not begin with a host" : "the host is too long";
	if (n < len && !is_blank(text[n]))
		return "a control character";
	if (!has_good_port(text, n))
		return "the host does not have the form HOST or [HOST]:PORT";
	for (at = n; at < len && is_blank(text[at]);)
		at++;
	out->name = text;
	out->len = n;
	return at == len ? "no key after the host" : parse_key(out->pin, text + at, len - at);
}

int iw_known_parse(struct iw_known_line *out, const char *text, size_t len, const char **why)
{
	*out = (struct iw_known_line){ .name = NULL };
	*why = parse_line(out, text, len);
	return *why ? IW_E_INVAL : 0;
}

int iw_known_name(char name[IW_KNOWN_NAME], const char *host, uint16_t port, struct iw_fault *why)
{
	int n = port == IW_CLI_PORT
			? snprintf(name, IW_KNOWN_NAME, "%s", host)
			: snprintf(name, IW_KNOWN_NAME, "[%s]:%u", host, (unsigned)port);
	bool ok = n > 0 && n < IW_KNOWN_NAME && host[0] != '#' && host[0] != '\0';

	for (const char *p = host; *p && ok; p++)
		ok = is_of_name(*p) && *p != '[' && *p != ']';
	if (!ok)
		return iw_fail(
			why, IW_E_INVAL,
			"the name of this host cannot be remembered with its key; give its address, or --pin");
	for (char *p = name; *p; p++)
		if (*p >= 'A' && *p <= 'Z')
			*p = (char)(*p | 0x20);
	return 0;
}

/* --- the file --- */

void iw_known_init(struct iw_known_hosts *k)
{
	*k = (struct iw_known_hosts){ .fd = -1 };
}

void iw_known_fini(struct iw_known_hosts *k)
{
	if (k->fd >= 0)
		close(k->fd);
	free(k->pins);
	iw_known_init(k);
}

bool iw_known_has(const struct iw_known_hosts *k, const uint8_t pin[IW_TLS_PIN_LEN])
{
	for (size_t i = 0; i < k->npins; i++)
		if (memcmp(k->pins[i], pin, IW_TLS_PIN_LEN) == 0)
			return true;
	return false;
}

static int keep(struct iw_known_hosts *k, const struct iw_known_line *l, size_t line,
		struct iw_fault *why)
{
	uint8_t(*pins)[IW_TLS_PIN_LEN] = realloc(k->pins, (k->npins + 1) * sizeof(*pins));

	if (!pins)
		return iw_fail(why, IW_E_NOMEM, "no memory for the keys in %s", k->path);
	k->pins = pins;
	memcpy(pins[k->npins++], l->pin, IW_TLS_PIN_LEN);
	if (k->first_line == 0)
		k->first_line = line;
	return 0;
}

static int take_line(struct iw_known_hosts *k, const char *text, size_t len, size_t line,
		     const char *name, struct iw_fault *why)
{
	struct iw_known_line l;
	const char *fault;

	if (iw_known_parse(&l, text, len, &fault) != 0)
		return iw_fail(
			why, IW_E_INVAL,
			"%s:%U: %s; expected HOST SHA256:KEY: correct or remove the line; nothing was sent",
			k->path, (uint64_t)line, fault);
	/* A line that the user wrote may have capital letters; names of hosts have no case. */
	if (l.name && l.len == strlen(name) && strncasecmp(l.name, name, l.len) == 0)
		return keep(k, &l, line, why);
	return 0;
}

static int read_lines(struct iw_known_hosts *k, FILE *f, const char *name, struct iw_fault *why)
{
	char *text = NULL;
	size_t cap = 0, line = 0;
	ssize_t n;
	int err = 0;

	k->npins = k->first_line = 0;
	while (!err && (n = getline(&text, &cap, f)) >= 0) {
		if (n > 0 && text[n - 1] == '\n')
			n--;
		err = take_line(k, text, (size_t)n, ++line, name, why);
	}
	if (!err && ferror(f))
		err = iw_os_fail(why, errno, "read %s", k->path);
	free(text);
	return err;
}

/* Reads the file from its start. Does not close fd. */
static int scan(struct iw_known_hosts *k, int fd, const char *name, struct iw_fault *why)
{
	int copy = dup(fd), err;
	FILE *f = copy < 0 || lseek(copy, 0, SEEK_SET) < 0 ? NULL : fdopen(copy, "r");

	if (!f) {
		err = iw_os_fail(why, errno, "read %s", k->path);
		if (copy >= 0)
			close(copy);
		return err;
	}
	err = read_lines(k, f, name, why);
	fclose(f);
	return err;
}

static int check_file(int fd, const char *path, struct iw_fault *why)
{
	struct stat st;
	char mode[8];

	if (fstat(fd, &st) < 0)
		return iw_os_fail(why, errno, "%s", path);
	if (!S_ISREG(st.st_mode))
		return iw_fail(why, IW_E_INVAL, "%s: not a regular file", path);
	if ((st.st_mode & 022) == 0)
		return 0;
	snprintf(mode, sizeof(mode), "%04o", (unsigned)(st.st_mode & 07777));
	return iw_fail(why, IW_E_PERM,
		       "%s: mode %s lets other users replace keys; expected 0600: run chmod 600 %s",
		       path, mode, path);
}

/* Scans the file at dir, if it exists. */
static int look_up(struct iw_known_hosts *k, int dir, const char *name, struct iw_fault *why)
{
	int fd = openat(dir, "known_hosts", O_RDONLY | O_CLOEXEC | O_NONBLOCK), err;

	if (fd < 0)
		return errno == ENOENT ? 0 : iw_os_fail(why, errno, "open %s", k->path);
	err = check_file(fd, k->path, why);
	if (!err)
		err = iw_config_lock(fd, LOCK_SH, k->path, why);
	if (!err)
		err = scan(k, fd, name, why);
	close(fd);
	return err;
}

int iw_known_find(struct iw_known_hosts *k, const char *name, struct iw_fault *why)
{
	int dir = iw_config_open(k->path, why), err = 0;
	size_t len = strlen(k->path);

	if (dir < 0)
		return dir;
	if (len + sizeof("/known_hosts") > sizeof(k->path))
		err = iw_fail(why, IW_E_LIMIT, "known_hosts: the path is too long");
	else
		memcpy(k->path + len, "/known_hosts", sizeof("/known_hosts"));
	if (!err)
		err = look_up(k, dir, name, why);
	if (!err && k->npins == 0) {
		k->fd = openat(dir, "known_hosts",
			       O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0600);
		if (k->fd < 0)
			err = iw_os_fail(
				why, errno,
				"open %s to remember the key of %s (--pin needs no such file)",
				k->path, name);
	}
	close(dir);
	return err;
}

/* Appends the line as one write, after a newline if the last line has none. */
static int append(struct iw_known_hosts *k, const char *name, const uint8_t pin[IW_TLS_PIN_LEN],
		  struct iw_fault *why)
{
	char line[LINE_TEXT], key[IW_CLI_PIN_TEXT], last = '\n';
	off_t size = lseek(k->fd, 0, SEEK_END);
	int len;
	ssize_t n;

	if (size > 0 && pread(k->fd, &last, 1, size - 1) != 1)
		return iw_os_fail(why, errno, "read %s", k->path);
	iw_cli_pin_text(key, pin);
	len = snprintf(line, sizeof(line), "%s%s %s\n", last == '\n' ? "" : "\n", name, key);
	n = write(k->fd, line, (size_t)len);
	if (n == len && fsync(k->fd) == 0)
		return 0;
	len = n >= 0 && n < len ? ENOSPC : errno;
	/* A part of a line would make the file invalid. */
	if (n > 0)
		(void)!ftruncate(k->fd, size);
	return iw_os_fail(why, len, "write to %s", k->path);
}

int iw_known_add(struct iw_known_hosts *k, const char *name, const uint8_t pin[IW_TLS_PIN_LEN],
		 bool *added, struct iw_fault *why)
{
	int err = iw_config_lock(k->fd, LOCK_EX, k->path, why);

	*added = false;
	if (err)
		return err;
	err = scan(k, k->fd, name, why);
	if (!err && k->npins == 0) {
		err = append(k, name, pin, why);
		*added = !err;
		if (!err)
			err = scan(k, k->fd, name, why);
	}
	(void)flock(k->fd, LOCK_UN);
	return err;
}
