/** What a token may do, from the least on: each role may do what those before it may. */
export const roles = ['viewer', 'operator', 'admin'] as const

export type Role = (typeof roles)[number]

/** Whether `role` may do what takes `needed`. */
export function includesRole(role: Role, needed: Role): boolean {
  return roles.indexOf(role) >= roles.indexOf(needed)
}
