/** Roles of tokens. Each role includes the roles before it. */
export const roles = ['viewer', 'operator', 'admin'] as const

export type Role = (typeof roles)[number]

export function includesRole(role: Role, needed: Role): boolean {
  return roles.indexOf(role) >= roles.indexOf(needed)
}
