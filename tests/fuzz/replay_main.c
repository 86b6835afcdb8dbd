// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Runs a fuzz target over the named files and over all files in the named folders. No input at all
 * is a failure. */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);
__attribute__((weak)) int LLVMFuzzerInitialize(int *argc, char ***argv);

static size_t inputs;

/* The input is copied to a block of exactly its length, so that a sanitizer detects a read past its
 * end. */
static int run_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	uint8_t *all = NULL, *exact = NULL;
	size_t len = 0, cap = 0;
	int ret = -1;

	if (!f) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		return -1;
	}
	for (;;) {
		if (len == cap) {
			size_t more = cap ? 2 * cap : 4096;
			uint8_t *grown = realloc(all, more);

			if (!grown)
				goto out;
			all = grown;
			cap = more;
		}
		size_t got = fread(all + len, 1, cap - len, f);

		if (got == 0)
			break;
		len += got;
	}
	if (ferror(f)) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		goto out;
	}
	exact = malloc(len ? len : 1);
	if (!exact)
		goto out;
	if (len)
		memcpy(exact, all, len);
	/* Print the name before the run: if the target dies, the last line names the input. */
	printf("input %s\n", path);
	fflush(stdout);
	LLVMFuzzerTestOneInput(exact, len);
	inputs++;
	ret = 0;
out:
	free(exact);
	free(all);
	fclose(f);
	return ret;
}

static int run_path(const char *path)
{
	struct stat st;
	struct dirent **names;
	int n, ret = 0;

	if (stat(path, &st) < 0) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		return -1;
	}
	if (!S_ISDIR(st.st_mode))
		return run_file(path);
	n = scandir(path, &names, NULL, alphasort);
	if (n < 0) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		return -1;
	}
	for (int i = 0; i < n; i++) {
		char *sub = NULL;

		if (names[i]->d_name[0] != '.') {
			if (asprintf(&sub, "%s/%s", path, names[i]->d_name) < 0 ||
			    run_path(sub) < 0)
				ret = -1;
			free(sub);
		}
		free(names[i]);
	}
	free(names);
	return ret;
}

int main(int argc, char **argv)
{
	int ret = 0;

	if (LLVMFuzzerInitialize)
		LLVMFuzzerInitialize(&argc, &argv);
	for (int i = 1; i < argc; i++)
		if (run_path(argv[i]) < 0)
			ret = 1;
	if (inputs == 0) {
		fprintf(stderr, "%s: no input found\n", argv[0]);
		return 1;
	}
	printf("replayed %zu inputs\n", inputs);
	return ret;
}
