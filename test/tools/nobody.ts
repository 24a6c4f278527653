import { readFileSync } from 'node:fs'

export type User = { readonly uid: number; readonly gid: number } | Record<string, never>

/** A user who owns nothing, if this process is root. */
export function nobody(): User {
  if (process.getuid?.() !== 0) return {}
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((entry) => entry.startsWith('nobody:'))
  const [, , uid, gid] = line?.split(':') ?? []
  return { uid: Number(uid ?? 65_534), gid: Number(gid ?? 65_534) }
}
