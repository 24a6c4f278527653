/* Preloaded into a process: while the file that FAILING_DISK names holds the name of a call, this call fails for SQLite's files.
   "write": no space left. "readonly": the file system is read-only. "sync": the disk reports an error, and forgets it, as Linux does. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static int fails(const char *call) {
  char word[32] = "";
  const char *path = getenv("FAILING_DISK");
  int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (file < 0) return 0;
  ssize_t length = read(file, word, sizeof word - 1);
  close(file);
  return length > 0 && strncmp(word, call, strlen(call)) == 0;
}

static int of_database(int file) {
  char link[64], path[PATH_MAX];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = 0;
  return strstr(path, ".db") != NULL;
}

static int refuses(int file) {
  if (!of_database(file)) return 0;
  if (fails("write")) errno = ENOSPC;
  else if (fails("readonly")) errno = EROFS;
  else return 0;
  return 1;
}

static int refuses_sync(int file) {
  if (!of_database(file) || !fails("sync")) return 0;
  errno = EIO;
  return 1;
}

#define REAL(type, name, ...) \
  static type (*real)(__VA_ARGS__); \
  if (!real) real = (type (*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

ssize_t pwrite64(int file, const void *bytes, size_t length, off64_t at) {
  REAL(ssize_t, "pwrite64", int, const void *, size_t, off64_t);
  return refuses(file) ? -1 : real(file, bytes, length, at);
}

ssize_t pwrite(int file, const void *bytes, size_t length, off_t at) {
  REAL(ssize_t, "pwrite", int, const void *, size_t, off_t);
  return refuses(file) ? -1 : real(file, bytes, length, at);
}

ssize_t write(int file, const void *bytes, size_t length) {
  REAL(ssize_t, "write", int, const void *, size_t);
  return refuses(file) ? -1 : real(file, bytes, length);
}

int fsync(int file) {
  REAL(int, "fsync", int);
  return refuses_sync(file) ? -1 : real(file);
}

int fdatasync(int file) {
  REAL(int, "fdatasync", int);
  return refuses_sync(file) ? -1 : real(file);
}
