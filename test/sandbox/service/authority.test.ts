import { expect, test } from 'vitest'
import { newAccount } from '../../../src/sandbox/service/accounts.ts'
import { Authority } from '../../../src/sandbox/service/authority.ts'
import { Refusal } from '../../../src/sandbox/service/refusal.ts'
import type { Scope } from '../../../src/sandbox/service/scopes.ts'
import type { Caller } from '../../../src/sandbox/service/tokens.ts'
import { Unshown } from '../../../src/sandbox/service/unshown.ts'
import { Prng } from '../../../src/sandbox/world/prng.ts'

const account = newAccount(new Prng('authority'), { name: 'acme' }, 0)
const [admin, broker] = account.users as [(typeof account.users)[0], (typeof account.users)[0]]
const machine = (scopes: readonly Scope[]): Caller => ({ account, scopes, kind: 'machine', credential: account.readOnly, user: null })
const partner: Caller = { account, scopes: ['broker_submit'], kind: 'partner', credential: account.partner, user: null }
const person = (kind: 'user' | 'portal', user: typeof admin): Caller => ({
  account,
  scopes: ['broker_submit'],
  kind,
  credential: null,
  user,
})

const unshown = new Unshown()
const authority = new Authority(unshown)

function statusOf(check: () => unknown, by = unshown): number {
  try {
    check()
    return 200
  } catch (error) {
    if (error instanceof Refusal) return by.status(error.condition)
    throw error
  }
}

test('broker_submit reads as well, broker_mcp only reads', () => {
  expect(statusOf(() => authority.requireScope(machine(['broker_mcp']), 'broker_mcp'))).toBe(200)
  expect(statusOf(() => authority.requireScope(machine(['broker_submit']), 'broker_mcp'))).toBe(200)
  expect(statusOf(() => authority.requireScope(machine(['broker_submit']), 'broker_submit'))).toBe(200)
  expect(statusOf(() => authority.requireScope(machine(['broker_mcp']), 'broker_submit'))).toBe(403)
  expect(statusOf(() => authority.requireScope(machine([]), 'broker_mcp'))).toBe(403)
})

test('roles and sessions are required as specified', () => {
  expect([person('user', admin), person('user', broker), partner].map((caller) => statusOf(() => authority.requireAdmin(caller)))).toEqual([
    200, 403, 403,
  ])
  const kinds = [person('portal', broker), person('user', admin), machine(['broker_submit']), partner]
  expect(kinds.map((caller) => statusOf(() => authority.requirePortalSession(caller)))).toEqual([200, 403, 403, 403])
  expect(kinds.map((caller) => statusOf(() => authority.requirePortalManagement(caller)))).toEqual([200, 403, 403, 403])
  expect(kinds.map((caller) => statusOf(() => authority.requirePartner(caller)))).toEqual([403, 403, 403, 200])
})

test('variants change unspecified statuses only', () => {
  const varied = new Unshown({ missing_scope: 401, missing_role: '422', portal_session_only: 401 })
  expect(statusOf(() => authority.requireScope(machine(['broker_mcp']), 'broker_submit'), varied)).toBe(401)
  expect(statusOf(() => authority.requireAdmin(partner), varied)).toBe(422)
  expect(statusOf(() => authority.requirePortalManagement(partner), varied)).toBe(401)
  expect(statusOf(() => authority.requirePortalSession(partner), varied)).toBe(403)
})

test("a write is attributed to the active user named by a machine, or to the token's user", () => {
  expect(authority.attributed(machine(['broker_submit']), ` ${broker.email.toUpperCase()} `)).toBe(broker)
  expect(authority.attributed(partner, admin.email)).toBe(admin)
  expect(authority.attributed(person('user', broker), admin.email)).toBe(broker)
  expect(authority.attributed(person('portal', admin), undefined)).toBe(admin)
  for (const missing of [undefined, null, '', ' ', 7, 'nobody@elsewhere.invalid']) {
    expect(
      statusOf(() => authority.attributed(partner, missing)),
      String(missing),
    ).toBe(422)
  }
  broker.active = false
  expect(statusOf(() => authority.attributed(partner, broker.email))).toBe(422)
})
