import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { createLog, KnownSecrets } from '../../src/base/log.ts'
import { type Config, loadConfig } from '../../src/config/config.ts'
import { secretValues } from '../../src/config/secret-values.ts'
import { settings } from '../../src/config/sources/names.ts'
import { diagnose } from '../../src/ops/doctor/doctor.ts'
import { showFix } from '../../src/ops/operations/index.ts'
import { shownSettings } from '../../src/ops/status/settings.ts'
import type { DeliveryKind } from '../../src/push/contract/delivery.ts'
import { redacting } from '../../src/push/kinds/redacting.ts'
import { AdminRig, ALICE } from '../ops/http/rig.ts'
import { silentLog, sqliteDatabase } from '../tools/databases.ts'
import { Described } from '../tools/described.ts'
import { plantedSettings } from '../tools/planted.ts'
import { closedAtEnd } from '../tools/servers.ts'
import { account, problemsOf, withSettings } from './support.ts'

/** Every secret of the schema, each with a unique text. */
const { tree, secrets } = plantedSettings((n) => `Planted0secret${String(n).padStart(2, '0')}x`)
const config = loadConfig(withSettings(tree))

function shownIn(text: string): string[] {
  // A base64 key isn't encoded again.
  const base64 = (secret: string) => (/^Planted/.test(secret) ? Buffer.from(secret).toString('base64').replace(/=+$/, '') : secret)
  return secrets.filter((secret) => [secret, encodeURIComponent(secret), base64(secret)].some((form) => text.includes(form)))
}

describe('every secret of the schema', () => {
  it('is set, and not shown by printed or inspected settings', () => {
    expect(secrets.length).toBeGreaterThan(30)
    expect(shownIn(JSON.stringify(tree)).length).toBe(secrets.length)
    // A destination's URL is text; printers use these masks.
    const masks = new KnownSecrets(secretValues(config))
    expect(shownIn(masks.maskText(inspect(config, { depth: Infinity, showHidden: true, getters: true })))).toEqual([])
    expect(shownIn(JSON.stringify(shownSettings(config)))).toEqual([])
  })

  it('is masked in the log, wherever a line repeats it', () => {
    const lines: string[] = []
    const destination = { write: (line: string) => lines.push(line) }
    const log = createLog({ level: 'info', pretty: false, secrets: secretValues(config), destination })
    for (const secret of secrets) {
      log.info({ answer: { parts: [secret, `x${secret}y`] } }, `the service repeated ${secret}`)
      log.error({ err: new Error(`refused ?q=${encodeURIComponent(secret)}`) }, 'refused')
      log.warn({ login: Buffer.from(secret).toString('base64') }, 'refused')
    }
    for (const login of loginsOf(config)) log.warn(`authorization was Basic ${login}`)
    expect(shownIn(lines.join('\n'))).toEqual([])
    for (const login of loginsOf(config)) expect(lines.join('\n')).not.toContain(login)
  })

  it('is in no problem, whichever variable it is put into', () => {
    for (const { env } of settings) {
      const problems = secrets.slice(0, 3).flatMap((secret) => problemsOf({ ...account, [env]: secret }))
      expect(shownIn(problems.join('\n')), env).toEqual([])
    }
  })

  it('is masked in the answers of a destination', async () => {
    const all = secrets.join(' ')
    const outcome = { type: 'failed' as const, error: all } as unknown as Awaited<ReturnType<DeliveryKind['send']>>[number]
    const kind = { batch: null, withoutSubmission: false, send: async () => [outcome], probe: async () => ({ ok: false, text: all }) }
    const masked = redacting(kind as unknown as DeliveryKind, secretValues(config))
    const { signal } = new AbortController()
    expect(shownIn(JSON.stringify([await masked.send([], signal), await masked.probe(signal)]))).toEqual([])
  })

  it('is in no answer of a route, and in no finding of doctor', { timeout: 60_000 }, async () => {
    const rig = await closedAtEnd(AdminRig.open(sqliteDatabase))
    const [alice] = rig.config.ops.tokens
    if (!alice) throw new Error('no token')
    rig.config = { ...config, database: rig.config.database, ops: { ...config.ops, tokens: [...config.ops.tokens, alice] } }
    const described = new Described((await rig.ask<object>('GET', '/openapi.json', { token: ALICE })).json)
    const [name = ''] = config.accounts.map((each) => each.name)
    const texts: string[] = []
    for (const { method, path } of described.operations.filter((each) => each.method === 'get' && each.operationId !== 'getLive')) {
      const place = path
        .replaceAll('{account}', name)
        .replaceAll('{name}', 'n8')
        .replace(/\{\w+\}/g, '1')
      const answer = await rig.ask(method, place)
      texts.push(answer.text, ...answer.headers.values())
    }
    expect(texts.length).toBeGreaterThan(50)
    const host = { env: {}, signal: new AbortController().signal } as unknown as Parameters<typeof diagnose>[0]['host']
    for await (const finding of diagnose({ config: rig.config, clock: systemClock, log: silentLog, host, showFix }, null))
      texts.push(finding.text)
    texts.push(...rig.lines.map((line) => JSON.stringify(line)))
    expect(shownIn(texts.join('\n'))).toEqual([])
  })
})

/** Credentials as HTTP encodes them. */
function loginsOf({ destinations, accounts }: Config): string[] {
  const basic = destinations.flatMap(({ ...each }) =>
    each.kind === 'http' && each.auth?.type === 'basic' ? [[each.auth.username, each.auth.password.reveal()]] : [],
  )
  const clients = accounts.flatMap(({ clientCredentials }) => clientCredentials.map(({ id, secret }) => [id, secret.reveal()]))
  return [...basic, ...clients].map((pair) => Buffer.from(pair.join(':')).toString('base64'))
}

describe('a secret of a few characters', () => {
  const short = plantedSettings((n) => `k${n}`)
  const shortConfig = loadConfig(withSettings(short.tree))
  const masks = new KnownSecrets(secretValues(shortConfig))

  it('is masked by its place, and not within other words', () => {
    expect(short.secrets.filter((secret) => secret.length < 8).length).toBeGreaterThan(20)
    expect(secretValues(shortConfig).filter((value) => value.length < 8)).toEqual([])
    expect(masks.maskText('mark11 and k5 stay')).toBe('mark11 and k5 stay')
    expect(masks.mask('{"msg":"no way to http://u:k9@proxy.test/x?a=1&api_key=k5"}\n')).toBe(
      '{"msg":"no way to http://u:[redacted]@proxy.test/x?a=1&api_key=[redacted]"}\n',
    )
    expect(masks.mask('{"password":"k9"}\n')).toBe('{"password":"[redacted]"}\n')
    const shown = JSON.stringify(shownSettings(shortConfig))
    for (const secret of short.secrets) expect(shown).not.toMatch(new RegExp(`[":=]${secret}["'@]`))
  })
})
