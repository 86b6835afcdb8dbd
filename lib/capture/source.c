// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Capture files, read through libpcap. Without it the functions are here all the same and say
 * so. */
#include "capture/capture.h"

#ifdef IW_HAVE_PCAP

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pcap/pcap.h>

#include "os/os.h"

struct iw_cap_source {
	pcap_t *pcap;
	enum iw_cap_link link;
	uint64_t number;
};

/* The capture's link type as ours; false: we know nothing of it. */
static bool link_of(int dlt, enum iw_cap_link *out)
{
	switch (dlt) {
	case DLT_EN10MB:
		*out = IW_CAP_ETHERNET;
		return true;
	case DLT_LINUX_SLL:
		*out = IW_CAP_SLL;
		return true;
	case DLT_LINUX_SLL2:
		*out = IW_CAP_SLL2;
		return true;
	case DLT_RAW:
	case DLT_IPV4:
	case DLT_IPV6:
		*out = IW_CAP_RAW;
		return true;
	case DLT_NULL:
	case DLT_LOOP:
		*out = IW_CAP_NULL;
		return true;
	}
	return false;
}

/* Big reads: a capture holds millions of small frames. */
#define READ_BUFFER (1u << 20)

static FILE *open_stream(const char *path, struct iw_fault *why)
{
	FILE *f = strcmp(path, "-") == 0 ? stdin : fopen(path, "rbe");

	if (!f) {
		(void)iw_os_fail(why, errno, "open %s", path);
		return NULL;
	}
	/* When there is no memory for it the small buffer does. */
	(void)setvbuf(f, NULL, _IOFBF, READ_BUFFER);
	return f;
}

int iw_cap_open_file(struct iw_cap_source **out, const char *path, struct iw_fault *why)
{
	char text[PCAP_ERRBUF_SIZE] = "";
	struct iw_cap_source *s = calloc(1, sizeof(*s));
	FILE *f;
	int err;

	if (!s)
		return iw_fail(why, IW_E_NOMEM, "%s: out of memory", path);
	f = open_stream(path, why);
	if (!f) {
		free(s);
		return IW_E_OS;
	}
	s->pcap = pcap_fopen_offline_with_tstamp_precision(f, PCAP_TSTAMP_PRECISION_NANO, text);
	if (!s->pcap) {
		err = iw_fail(why, IW_E_FORMAT, "%s: %s", path, text);
		if (f != stdin)
			fclose(f);
		free(s);
		return err;
	}
	if (!link_of(pcap_datalink(s->pcap), &s->link)) {
		const char *name = pcap_datalink_val_to_name(pcap_datalink(s->pcap));

		err = iw_fail(
			why, IW_E_FORMAT,
			"%s: link type %u (%s), expected Ethernet, Linux cooked, raw IP or null",
			path, (uint32_t)pcap_datalink(s->pcap), name ? name : "unknown");
		iw_cap_close(s);
		return err;
	}
	*out = s;
	return 0;
}

int iw_cap_read(struct iw_cap_source *s, struct iw_cap_frame *f, struct iw_fault *why)
{
	struct pcap_pkthdr *h;
	const uint8_t *data;
	int ret = pcap_next_ex(s->pcap, &h, &data);

	if (ret == PCAP_ERROR_BREAK)
		return 0;
	if (ret != 1)
		return iw_fail(why, IW_E_FORMAT, "frame %U: %s", s->number + 1,
			       pcap_geterr(s->pcap));
	*f = (struct iw_cap_frame){
		.number = ++s->number,
		/* With nanosecond precision tv_usec holds nanoseconds. */
		.time_ns = (uint64_t)h->ts.tv_sec * 1000000000u + (uint64_t)h->ts.tv_usec,
		.link = s->link,
		.data = data,
		.len = h->caplen,
		.wire_len = h->len,
	};
	return 1;
}

void iw_cap_close(struct iw_cap_source *s)
{
	if (!s)
		return;
	pcap_close(s->pcap);
	free(s);
}

#else

int iw_cap_open_file(struct iw_cap_source **out, const char *path, struct iw_fault *why)
{
	(void)out;
	return iw_fail(why, IW_E_NOTSUP, "%s: built without libpcap, which reads captures", path);
}

int iw_cap_read(struct iw_cap_source *s, struct iw_cap_frame *f, struct iw_fault *why)
{
	(void)s;
	(void)f;
	return iw_fail(why, IW_E_NOTSUP, "built without libpcap");
}

void iw_cap_close(struct iw_cap_source *s)
{
	(void)s;
}

#endif
