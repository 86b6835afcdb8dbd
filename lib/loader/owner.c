// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Names the owner of an attached program, and finds the process that holds its link. */
#include "loader/attach.h"

#include <dirent.h>
#include <linux/limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "os/probe.h"

const char *iw_attach_owner_name(enum iw_xdp_owner owner)
{
	switch (owner) {
	case IW_XDP_NONE:
		return "none";
	case IW_XDP_STEER:
		return "steer";
	case IW_XDP_OBSERVE:
		return "observe";
	case IW_XDP_OTHER_VERSION:
		return "another version";
	case IW_XDP_DISPATCHER:
		return "dispatcher";
	case IW_XDP_FOREIGN:
		return "foreign";
	case IW_XDP_UNKNOWN:
		break;
	}
	return "unknown";
}

/* True if path, the fdinfo of a descriptor, has the line "link_id:\t7" for link 7. */
static bool fd_is_link(const char *path, uint32_t link)
{
	FILE *f = fopen(path, "re");
	char line[128];
	unsigned id;
	bool is = false;

	while (f && !is && fgets(line, sizeof(line), f))
		is = sscanf(line, "link_id: %u", &id) == 1 && id == link;
	if (f)
		fclose(f);
	return is;
}

static bool process_has_link(const char *pid, uint32_t link)
{
	char path[PATH_MAX];
	const struct dirent *e;
	bool has = false;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%s/fdinfo", pid);
	d = opendir(path);
	while (d && !has && (e = readdir(d))) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/proc/%s/fdinfo/%s", pid, e->d_name);
		has = fd_is_link(path, link);
	}
	if (d)
		closedir(d);
	return has;
}

int iw_attach_holder(uint32_t link, char name[static 16])
{
	DIR *d = link ? opendir("/proc") : NULL;
	const struct dirent *e;
	char path[64];
	int pid = 0;

	name[0] = '\0';
	while (d && !pid && (e = readdir(d)))
		if (e->d_name[0] >= '1' && e->d_name[0] <= '9' && process_has_link(e->d_name, link))
			pid = (int)strtol(e->d_name, NULL, 10);
	if (d)
		closedir(d);
	if (pid) {
		snprintf(path, sizeof(path), "/proc/%d/comm", pid);
		if (iw_os_read_line(name, 16, path, NULL) < 0)
			name[0] = '\0';
	}
	return pid;
}
