import { describe, expect, it } from 'vitest'
import { loadConfig } from '../../src/config/config.ts'
import { secretValues } from '../../src/config/secret-values.ts'
import { account, hook, problemsOf, withFile } from './support.ts'

const SECRETS = { ONCALL: hook(7), SMTP: 'smtp-password' }
const webhook = '{ name: oncall, kind: webhook, url: "https://alerts.test/hook", secret: "${ONCALL}" }'
const email =
  '{ name: mail, kind: email, host: smtp.test, username: mirror, password: "${SMTP}", from: m@agency.test, to: ops@agency.test }'

const env = (yaml: string) => withFile(yaml, { ...account, ...SECRETS })
const problems = (operator: string) => problemsOf(env(`operators: [${operator}]`))

describe('operators', () => {
  it('are read with their defaults', () => {
    const [first, second] = loadConfig(env(`operators: [${webhook}, ${email}]`)).operators
    expect(first).toEqual({
      name: 'oncall',
      kind: 'webhook',
      url: 'https://alerts.test/hook',
      secret: expect.anything(),
      allowPrivate: false,
      repeatMs: 4 * 3_600_000,
      resolved: true,
    })
    const smtp = { host: 'smtp.test', port: 587, tls: 'starttls', from: 'm@agency.test', to: ['ops@agency.test'] }
    expect(second).toMatchObject({ kind: 'email', ...smtp })
    expect(loadConfig(env('')).operators).toEqual([])
  })

  it('have the port of their TLS, unless they name one', () => {
    const port = (more: string) => {
      const [operator] = loadConfig(env(`operators: [{ name: a, kind: email, from: a@b.test, to: a@b.test, ${more} }]`)).operators
      return operator?.kind === 'email' ? operator.port : null
    }
    expect(port('host: smtp.test, tls: implicit')).toBe(465)
    expect(port('host: localhost, tls: off')).toBe(25)
    expect(port('host: smtp.test, port: 2525')).toBe(2525)
  })

  it('never show their secrets', () => {
    const config = loadConfig(env(`operators: [${webhook}, ${email}]`))
    expect(JSON.stringify(config)).not.toMatch(/smtp-password/)
    expect(secretValues(config)).toEqual(expect.arrayContaining(['smtp-password', hook(7).replace('whsec_', '')]))
  })

  it('are refused with a line for each mistake', () => {
    expect(problems('{ name: a, kind: pager }')).toEqual(['operators[0].kind in CONFIG_FILE must be one of webhook, email'])
    expect(problems(webhook.replace('https:', 'http:'))).toEqual([
      'operators[0].url in CONFIG_FILE must use https; http is only allowed with allow_private: true',
    ])
    expect(problems('{ name: A, kind: webhook, url: "https://alerts.test/" }')).toEqual([
      'operators[0].name in CONFIG_FILE must be 1 to 63 of a-z, 0-9, _ and -, and begin with a letter or digit',
      'operators[0].secret in CONFIG_FILE is missing; set it, as a reference',
    ])
    expect(problems('{ name: a, kind: email, host: smtp.test, from: nobody, to: [] }')).toEqual([
      'operators[0].from in CONFIG_FILE must be an address such as ops@agency.example',
      'operators[0].to in CONFIG_FILE must hold at least one address',
    ])
    expect(problems('{ name: a, kind: email, host: smtp.test, tls: off, username: u, from: a@b.test, to: a@b.test }')).toEqual([
      'operators[0].password in CONFIG_FILE is missing; set both username and password',
      'operators[0].tls in CONFIG_FILE must be starttls or implicit; off is only for a mail server on this machine',
    ])
    expect(problems(`${webhook}, ${webhook}`)).toEqual([
      'operators[1].name in CONFIG_FILE is the same as operators[0].name in CONFIG_FILE; choose another',
    ])
  })
})
