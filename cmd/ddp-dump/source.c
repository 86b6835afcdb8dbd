// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Reads capture files and interfaces through libpcap. Without libpcap the functions return
 * IW_E_NOTSUP. */
#include "ddp-dump/capture.h"

#ifdef IW_HAVE_PCAP

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <pcap/pcap.h>

#include "os/os.h"
#include "util/num.h"

struct iw_cap_source {
	pcap_t *pcap;
	char *buffer; /* of the file's stream; owned */
	enum iw_packet_link link;
	bool live;
	const char *name; /* of the file or interface, for messages; borrowed */
	uint64_t number;
	/* For a file the filter is applied here and not in libpcap, to count the rejected
	 * frames. */
	bool filtered;
	struct bpf_program filter;
	uint64_t rejected;
};

#define SNAPLEN_DEFAULT 262144
#define BUFFER_DEFAULT  (16 << 20)
/* The longest time for which the kernel collects frames before it delivers them. */
#define GATHER_MS       100

/* Converts libpcap's link type. False: not supported. */
static bool link_of(int dlt, enum iw_packet_link *out)
{
	switch (dlt) {
	case DLT_EN10MB:
		*out = IW_PACKET_ETHERNET;
		return true;
	case DLT_LINUX_SLL:
		*out = IW_PACKET_SLL;
		return true;
	case DLT_LINUX_SLL2:
		*out = IW_PACKET_SLL2;
		return true;
	case DLT_RAW:
	case DLT_IPV4:
	case DLT_IPV6:
		*out = IW_PACKET_RAW;
		return true;
	case DLT_NULL:
	case DLT_LOOP:
		*out = IW_PACKET_NULL;
		return true;
	}
	return false;
}

/* Large reads: a capture has millions of small frames. */
#define READ_BUFFER (1u << 20)

static int open_stream(FILE **out, struct iw_cap_source *s, const char *path, struct iw_fault *why)
{
	FILE *f = strcmp(path, "-") == 0 ? stdin : fopen(path, "rbe");

	if (!f)
		return iw_os_fail(why, errno, "open %s", path);
	/* glibc ignores the size without a buffer. Without memory for it, the default one stays. A
	 * larger pipe, if the file is one, saves context switches. */
	s->buffer = malloc(READ_BUFFER);
	if (s->buffer)
		(void)setvbuf(f, s->buffer, _IOFBF, READ_BUFFER);
	/* Standard input stays open and keeps the buffer until the program ends. */
	if (f == stdin)
		s->buffer = NULL;
	(void)fcntl(fileno(f), F_SETPIPE_SZ, READ_BUFFER);
	*out = f;
	return 0;
}

#define MAGIC_MAX 6

/* The first bytes of compressed files, and the program that decompresses them to standard
 * output. */
static const struct {
	const char *format, *program;
	uint8_t magic[MAGIC_MAX], len;
} compressed[] = {
	{ "gzip", "zcat", { 0x1f, 0x8b }, 2 },
	{ "xz", "xzcat", { 0xfd, '7', 'z', 'X', 'Z', 0 }, 6 },
	{ "zstd", "zstdcat", { 0x28, 0xb5, 0x2f, 0xfd }, 4 },
	{ "bzip2", "bzcat", { 'B', 'Z', 'h' }, 3 },
	{ "lz4", "lz4cat", { 0x04, 0x22, 0x4d, 0x18 }, 4 },
};

/* Reads the first bytes and pushes them back, for libpcap. */
static size_t peek(FILE *f, uint8_t head[static MAGIC_MAX])
{
	size_t n = fread(head, 1, MAGIC_MAX, f);

	for (size_t i = n; i > 0; i--)
		(void)ungetc(head[i - 1], f);
	return n;
}

/* IW_E_FORMAT for a directory and for a compressed file; 0 for all others. */
static int refuse(const struct iw_cap_source *s, FILE *f, struct iw_fault *why)
{
	uint8_t head[MAGIC_MAX];
	struct stat st;
	size_t n;

	if (fstat(fileno(f), &st) == 0 && S_ISDIR(st.st_mode))
		return iw_fail(why, IW_E_FORMAT,
			       "%s: a directory; expected a pcap or pcapng capture", s->name);
	n = peek(f, head);
	for (size_t i = 0; i < IW_ARRAY_LEN(compressed); i++) {
		if (n < compressed[i].len ||
		    memcmp(head, compressed[i].magic, compressed[i].len) != 0)
			continue;
		if (f == stdin)
			return iw_fail(why, IW_E_FORMAT,
				       "%s: compressed with %s; decompress it first: ... | %s | "
				       "ddp-dump -r -",
				       s->name, compressed[i].format, compressed[i].program);
		return iw_fail(why, IW_E_FORMAT,
			       "%s: compressed with %s; use `%s %s | ddp-dump -r -`", s->name,
			       compressed[i].format, compressed[i].program, s->name);
	}
	return 0;
}

/* Translates libpcap's message about the beginning of a file. */
static int not_a_capture(const struct iw_cap_source *s, const char *text, struct iw_fault *why)
{
	if (strstr(text, "only got 0"))
		return iw_fail(why, IW_E_FORMAT, "%s: empty; expected a pcap or pcapng capture",
			       s->name);
	if (strstr(text, "unknown file format") || strstr(text, "read 4 file header bytes"))
		return iw_fail(why, IW_E_FORMAT, "%s: not a capture; expected pcap or pcapng",
			       s->name);
	if (strstr(text, "truncated dump file"))
		return iw_fail(why, IW_E_FORMAT,
			       "%s: ends within the header of a capture; copy or capture it again",
			       s->name);
	return iw_fail(why, IW_E_FORMAT, "%s: %s", s->name, text);
}

static int open_file(struct iw_cap_source *s, const char *path, struct iw_fault *why)
{
	char text[PCAP_ERRBUF_SIZE] = "";
	FILE *f = NULL;
	int err = open_stream(&f, s, path, why);

	if (err < 0)
		return err;
	err = refuse(s, f, why);
	if (err < 0)
		goto fail;
	s->pcap = pcap_fopen_offline_with_tstamp_precision(f, PCAP_TSTAMP_PRECISION_NANO, text);
	if (s->pcap)
		return 0;
	err = not_a_capture(s, text, why);
fail:
	if (f != stdin)
		fclose(f);
	return err;
}

/* Translates the error of pcap_activate(). */
static int activate_fail(struct iw_fault *why, pcap_t *p, const char *name, int said)
{
	const char *more = pcap_geterr(p);

	switch (said) {
	case PCAP_ERROR_PERM_DENIED:
	case PCAP_ERROR_PROMISC_PERM_DENIED:
		return iw_fail(why, IW_E_PERM,
			       "%s: capturing needs CAP_NET_RAW: run as root, or give ddp-dump the "
			       "capability",
			       name);
	case PCAP_ERROR_NO_SUCH_DEVICE:
		return iw_fail(why, IW_E_NOENT,
			       "interface %s: no such interface; `ip link` lists them", name);
	case PCAP_ERROR_IFACE_NOT_UP:
		return iw_fail(why, IW_E_OS, "interface %s: not up; ip link set %s up", name, name);
	}
	return iw_fail(why, IW_E_OS, "%s: %s", name, more[0] ? more : pcap_statustostr(said));
}

static int open_live(struct iw_cap_source *s, const struct iw_cap_source_cfg *cfg,
		     struct iw_fault *why)
{
	char text[PCAP_ERRBUF_SIZE] = "";
	int said;

	s->live = true;
	s->pcap = pcap_create(cfg->interface, text);
	if (!s->pcap)
		return iw_fail(why, IW_E_OS, "%s: %s", cfg->interface, text);
	/* These fail only after pcap_activate(). */
	(void)pcap_set_snaplen(s->pcap, (int)(cfg->snaplen ? cfg->snaplen : SNAPLEN_DEFAULT));
	(void)pcap_set_buffer_size(s->pcap,
				   (int)(cfg->buffer_octets ? cfg->buffer_octets : BUFFER_DEFAULT));
	(void)pcap_set_promisc(s->pcap, !cfg->not_promiscuous);
	(void)pcap_set_timeout(s->pcap, GATHER_MS);
	/* If it fails, timestamps have microseconds; iw_cap_read() converts them. */
	(void)pcap_set_tstamp_precision(s->pcap, PCAP_TSTAMP_PRECISION_NANO);
	said = pcap_activate(s->pcap);
	if (said < 0)
		return activate_fail(why, s->pcap, cfg->interface, said);
	if (pcap_setnonblock(s->pcap, 1, text) < 0)
		return iw_fail(why, IW_E_OS, "%s: %s", cfg->interface, text);
	return 0;
}

static int set_filter(struct iw_cap_source *s, const char *filter, struct iw_fault *why)
{
	struct bpf_program program;
	int err = pcap_compile(s->pcap, &program, filter, 1, PCAP_NETMASK_UNKNOWN);
	struct stat st;

	if (err < 0 && stat(filter, &st) == 0 && S_ISREG(st.st_mode))
		return iw_fail(why, IW_E_INVAL, "\"%s\": a file, not a filter; %s", filter,
			       s->live ? "read a capture with -r FILE, without -i"
				       : "-r reads one capture at a time");
	if (err < 0)
		return iw_fail(why, IW_E_INVAL, "filter \"%s\": %s; see pcap-filter(7)", filter,
			       pcap_geterr(s->pcap));
	if (!s->live) {
		s->filter = program;
		s->filtered = true;
		return 0;
	}
	if (pcap_setfilter(s->pcap, &program) < 0)
		err = iw_fail(why, IW_E_OS, "filter \"%s\": %s", filter, pcap_geterr(s->pcap));
	pcap_freecode(&program);
	return err;
}

static int set_up(struct iw_cap_source *s, const struct iw_cap_source_cfg *cfg,
		  struct iw_fault *why)
{
	int dlt = pcap_datalink(s->pcap);

	if (!link_of(dlt, &s->link)) {
		const char *name = pcap_datalink_val_to_name(dlt);

		return iw_fail(
			why, IW_E_FORMAT,
			"%s: link type %u (%s), expected Ethernet, Linux cooked, raw IP or null",
			s->name, (uint32_t)dlt, name ? name : "unknown");
	}
	if (cfg->filter) {
		int err = set_filter(s, cfg->filter, why);

		if (err < 0)
			return err;
	}
	return 0;
}

int iw_cap_open(struct iw_cap_source **out, const struct iw_cap_source_cfg *cfg,
		struct iw_fault *why)
{
	struct iw_cap_source *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return iw_fail(why, IW_E_NOMEM, "out of memory");
	s->name = !cfg->file                    ? cfg->interface
		  : strcmp(cfg->file, "-") == 0 ? "standard input"
						: cfg->file;
	err = cfg->file ? open_file(s, cfg->file, why) : open_live(s, cfg, why);
	if (err == 0)
		err = set_up(s, cfg, why);
	if (err < 0) {
		iw_cap_close(s);
		return err;
	}
	*out = s;
	return 0;
}

static int read_fail(const struct iw_cap_source *s, const char *text, struct iw_fault *why)
{
	if (!s->live)
		return iw_fail(
			why, IW_E_FORMAT,
			"%s: frame %U: %s; the frames before it were decoded: is the capture still being written, or copied in part?",
			s->name, s->number + 1, text);
	if (strstr(text, "disappeared"))
		return iw_fail(why, IW_E_OS, "interface %s: it was removed", s->name);
	return iw_fail(why, IW_E_OS, "interface %s: %s", s->name, text);
}

int iw_cap_read(struct iw_cap_source *s, struct iw_cap_frame *f, struct iw_fault *why)
{
	struct pcap_pkthdr *h;
	const uint8_t *data;
	int ret = pcap_next_ex(s->pcap, &h, &data);

	while (ret == 1 && s->filtered && !pcap_offline_filter(&s->filter, h, data)) {
		s->rejected++;
		ret = pcap_next_ex(s->pcap, &h, &data);
	}
	if (ret == PCAP_ERROR_BREAK)
		return 0;
	if (ret == 0)
		return IW_E_AGAIN;
	if (ret != 1)
		return read_fail(s, pcap_geterr(s->pcap), why);
	*f = (struct iw_cap_frame){
		.number = ++s->number,
		/* With nanosecond precision, tv_usec is in nanoseconds. */
		.time_ns = (uint64_t)h->ts.tv_sec * 1000000000u +
			   (uint64_t)h->ts.tv_usec *
				   (pcap_get_tstamp_precision(s->pcap) == PCAP_TSTAMP_PRECISION_NANO
					    ? 1
					    : 1000),
		.link = s->link,
		.data = data,
		.len = h->caplen,
		.wire_len = h->len,
	};
	return 1;
}

int iw_cap_source_fd(const struct iw_cap_source *s)
{
	return s->live ? pcap_get_selectable_fd(s->pcap) : -1;
}

void iw_cap_source_drops(struct iw_cap_source *s, uint64_t *kernel, uint64_t *interface)
{
	struct pcap_stat stat = { 0 };

	if (s->live)
		(void)pcap_stats(s->pcap, &stat);
	*kernel = stat.ps_drop;
	*interface = stat.ps_ifdrop;
}

uint64_t iw_cap_source_rejected(const struct iw_cap_source *s)
{
	return s->rejected;
}

/* Raw IP is the only supported link type with another number in files (pcap-linktype(7)). */
#define LINKTYPE_RAW_IP 101

int iw_cap_source_linktype(const struct iw_cap_source *s)
{
	int dlt = pcap_datalink(s->pcap);

	return dlt == DLT_RAW ? LINKTYPE_RAW_IP : dlt;
}

void iw_cap_close(struct iw_cap_source *s)
{
	if (!s)
		return;
	if (s->filtered)
		pcap_freecode(&s->filter);
	if (s->pcap)
		pcap_close(s->pcap);
	free(s->buffer);
	free(s);
}

int iw_cap_can_read(struct iw_fault *why)
{
	(void)why;
	return 0;
}

#else

int iw_cap_can_read(struct iw_fault *why)
{
	return iw_fail(why, IW_E_NOTSUP, "built without libpcap");
}

int iw_cap_open(struct iw_cap_source **out, const struct iw_cap_source_cfg *cfg,
		struct iw_fault *why)
{
	(void)out;
	return iw_fail(why, IW_E_NOTSUP, "%s: built without libpcap, which reads captures",
		       cfg->file ? cfg->file : cfg->interface);
}

int iw_cap_read(struct iw_cap_source *s, struct iw_cap_frame *f, struct iw_fault *why)
{
	(void)s;
	(void)f;
	return iw_fail(why, IW_E_NOTSUP, "built without libpcap");
}

int iw_cap_source_fd(const struct iw_cap_source *s)
{
	(void)s;
	return -1;
}

void iw_cap_source_drops(struct iw_cap_source *s, uint64_t *kernel, uint64_t *interface)
{
	(void)s;
	*kernel = *interface = 0;
}

uint64_t iw_cap_source_rejected(const struct iw_cap_source *s)
{
	(void)s;
	return 0;
}

int iw_cap_source_linktype(const struct iw_cap_source *s)
{
	(void)s;
	return 0;
}

void iw_cap_close(struct iw_cap_source *s)
{
	(void)s;
}

#endif
