import { describe, expect, it } from 'vitest'
import { loadConfig } from '../../src/config/config.ts'
import { secretValues } from '../../src/config/secret-values.ts'
import { account, problemsOf, withFile } from './support.ts'

const good = {
  issuer: '"https://login.test/tenant/"',
  client_id: 'mirror',
  client_secret: '"${OIDC_SECRET}"',
  roles: '{ staff: viewer, "it:admins": admin }',
}

function env(over: Readonly<Record<string, string | null>> = {}) {
  const keys = Object.entries({ ...good, ...over }).filter(([, value]) => value !== null)
  const yaml = `ops: { oidc: { ${keys.map(([key, value]) => `${key}: ${value}`).join(', ')} } }`
  return withFile(yaml, { ...account, OIDC_SECRET: 'oidc-secret-1' })
}

const problems = (over: Readonly<Record<string, string | null>>) => problemsOf(env(over)).join('\n')

describe('a provider of OpenID Connect', () => {
  it('is read with its defaults, and its secret is known as one', () => {
    const config = loadConfig(env())
    expect(config.ops.oidc).toEqual({
      issuer: 'https://login.test/tenant/',
      clientId: 'mirror',
      clientSecret: expect.anything(),
      name: 'OpenID Connect',
      claim: 'groups',
      scope: 'openid profile email',
      roles: { staff: 'viewer', 'it:admins': 'admin' },
    })
    expect(secretValues(config)).toContain('oidc-secret-1')
    expect(loadConfig(withFile('', account)).ops.oidc).toBeNull()
  })

  it('may use http on this machine alone', () => {
    expect(loadConfig(env({ issuer: '"http://localhost:4000"' })).ops.oidc?.issuer).toBe('http://localhost:4000')
    expect(problems({ issuer: '"http://login.test"' })).toMatch(/ops\.oidc\.issuer in CONFIG_FILE must use https/)
    for (const issuer of ['login.test', '"ftp://login.test"', '"https://login.test/?a=b"', '"https://u:p@login.test"'])
      expect(problems({ issuer })).toMatch(/ops\.oidc\.issuer in CONFIG_FILE must be the https URL of a provider/)
  })

  it('is refused when something is missing or wrong', () => {
    const missing = ['issuer', 'client_id', 'roles']
    for (const key of missing) expect(problems({ [key]: null })).toMatch(`ops.oidc.${key} in CONFIG_FILE is missing`)
    expect(problems({ roles: '{}' })).toMatch(/ops\.oidc\.roles in CONFIG_FILE must hold at least one/)
    expect(problems({ roles: '{ staff: root }' })).toMatch(/must be one of viewer, operator, admin/)
    expect(problems({ scope: 'profile' })).toMatch(/ops\.oidc\.scope in CONFIG_FILE must be words/)
    expect(problems({ clam: 'x' })).toMatch(/the nearest one is claim/)
  })
})
