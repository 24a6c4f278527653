import { readFileSync } from 'node:fs'

/** As whom a child process runs; of nothing it is the user of this process. */
export type User = { readonly uid: number; readonly gid: number } | Record<string, never>

/** The user who owns nothing, as far as this process may become it: only root may. */
export function nobody(): User {
  if (process.getuid?.() !== 0) return {}
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((entry) => entry.startsWith('nobody:'))
  const [, , uid, gid] = line?.split(':') ?? []
  return { uid: Number(uid ?? 65_534), gid: Number(gid ?? 65_534) }
}
