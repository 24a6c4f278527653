import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../../src/base/clock.ts'
import type { EmailOperator } from '../../../src/config/config.ts'
import { createEmailSender } from '../../../src/ops/alarms/email.ts'
import { messageOf, testMessage } from '../../../src/ops/alarms/message.ts'
import type { AlarmRow } from '../../../src/store/operators/alarms.ts'
import { selfSigned } from '../../push/certificate.ts'
import { MAIL_PASSWORD, MAIL_USER, type MailServer, startMailServer } from './mail-server.ts'

const NOW = '2026-01-05T12:00:00.000000Z'
const clock = new ManualClock(Date.UTC(2026, 0, 5, 12))
const signal = new AbortController().signal
const ID = 'b3f6c1de-0000-4000-8000-000000000001'
const BODY = JSON.stringify(testMessage(NOW))

const firing: AlarmRow = {
  name: 'inbox_dead',
  account: 'acme',
  destination: '',
  state: 'firing',
  severity: 'warning',
  since: '2026-01-05T10:00:00.000000Z',
  last_at: NOW,
  resolved_at: NOW,
  notified_at: null,
  text: '3 deliveries are dead-lettered; check them',
}

function operator(server: MailServer, over: Partial<EmailOperator> = {}): EmailOperator {
  return {
    name: 'mail',
    kind: 'email',
    repeatMs: 3_600_000,
    resolved: true,
    host: '127.0.0.1',
    port: server.port,
    tls: 'starttls',
    username: MAIL_USER,
    password: { reveal: () => MAIL_PASSWORD },
    from: 'mirror@agency.example',
    to: ['ops@agency.example', 'boss@agency.example'],
    ...over,
  }
}

async function send(settings: EmailOperator, options: { body?: string; ca?: string | null; signal?: AbortSignal } = {}) {
  const ca = options.ca === null ? {} : { ca: options.ca ?? selfSigned.cert }
  const sender = createEmailSender(settings, { clock, proxy: {}, ...ca })
  return await sender.send(ID, options.body ?? BODY, options.signal ?? signal)
}

describe('an e-mail operator', () => {
  it('is sent by STARTTLS and a login, in plain text, with an id that stays the same', async () => {
    const server = await startMailServer()
    const body = JSON.stringify(messageOf(firing, 'firing', NOW))
    expect(await send(operator(server), { body })).toEqual({ ok: true })
    expect(await send(operator(server), { body: JSON.stringify(messageOf(firing, 'resolved', NOW)) })).toEqual({ ok: true })
    const [first, second] = server.taken
    expect(first).toMatchObject({ to: ['ops@agency.example', 'boss@agency.example'], user: MAIL_USER, secure: true })
    const words = (source = '') => source.replaceAll('\r\n ', ' ').replaceAll('\r\n', '\n')
    expect(words(first?.source)).toContain('Subject: [submission-mirror] warning: Deliveries are dead-lettered (account acme)')
    expect(words(first?.source)).toContain(`Message-ID: <${ID}@submission-mirror>`)
    expect(words(first?.source)).toContain('Auto-Submitted: auto-generated')
    expect(words(first?.source)).toContain('Content-Type: text/plain')
    expect(words(first?.source)).toContain(
      '3 deliveries are dead-lettered; check them.\n\nAlarm: inbox_dead (account acme), warning\nSince: 2026-01-05 10:00:00 UTC\n' +
        'What to do: docker/warnings-service.md#a-delivery-is-dead\n',
    )
    expect(words(second?.source)).toContain('Subject: [submission-mirror] resolved: Deliveries are dead-lettered (account acme)')
    expect(words(second?.source)).toContain('Resolved at 2026-01-05 12:00:00 UTC, after 2 h. The alarm was:')
  })

  it('is sent by TLS from the first byte, and without TLS on this machine', async () => {
    const implicit = await startMailServer({ secure: true })
    expect(await send(operator(implicit, { tls: 'implicit' }))).toEqual({ ok: true })
    const plain = await startMailServer({ hideSTARTTLS: true, disabledCommands: ['STARTTLS', 'AUTH'], authOptional: true })
    expect(await send(operator(plain, { tls: 'off', username: null, password: null }))).toEqual({ ok: true })
    expect([...implicit.taken, ...plain.taken].map(({ secure }) => secure)).toEqual([true, false])
  })

  it('sends nothing, not even a password, without TLS or with a bad certificate', async () => {
    const without = await startMailServer({ hideSTARTTLS: true, disabledCommands: ['STARTTLS'], allowInsecureAuth: true })
    const noTls = await send(operator(without))
    const unknown = await startMailServer()
    const untrusted = await send(operator(unknown), { ca: null })
    expect(noTls).toEqual({
      ok: false,
      error: 'the mail server does not offer TLS (it answered 500 to STARTTLS), so no mail is sent; check tls and port',
    })
    expect(untrusted).toMatchObject({
      ok: false,
      error: expect.stringMatching(/DEPTH_ZERO_SELF_SIGNED_CERT\): the certificate is from an unknown authority/),
    })
    expect([...without.taken, ...unknown.taken]).toEqual([])
  })

  it('is sent to the addresses that are accepted, and names those that are not reached', async () => {
    const server = await startMailServer({
      onRcptTo: ({ address }, _session, done) =>
        done(address.startsWith('boss') ? Object.assign(new Error('unknown'), { responseCode: 550 }) : null),
    })
    expect(await send(operator(server))).toEqual({
      ok: true,
      remark:
        'but not for boss@agency.example (the mail server answered 550: the mail server rejects sender or recipient; check from and to)',
    })
    expect(server.taken.map(({ to }) => to)).toEqual([['ops@agency.example']])
  })

  it('explains a failure in a sentence without secrets', async () => {
    const server = await startMailServer()
    const wrong = operator(server, { password: { reveal: () => 'wrong-password' } })
    expect(await send(wrong)).toEqual({ ok: false, error: 'the mail server answered 535: the mail server rejects username and password' })
    server.refuse(451)
    const later = 'the mail server answered 451: the mail may be accepted later; check the log of the mail server'
    expect(await send(operator(server))).toEqual({ ok: false, error: later })
    server.refuse(554)
    const never = 'the mail server answered 554: the mail server rejects the content of the mail; ask its administrator'
    expect(await send(operator(server))).toEqual({ ok: false, error: never })
    expect(await send(operator(server, { port: 1 }))).toMatchObject({
      ok: false,
      error: expect.stringMatching(/^the mail server cannot be used \(ECONNREFUSED\): no program listens there/),
    })
    expect(await send(operator(await startMailServer(), { tls: 'implicit' }))).toEqual({
      ok: false,
      error: 'the mail server cannot be used (ERR_SSL_WRONG_VERSION_NUMBER): this port does not use TLS; check tls and port',
    })
    const closed = await startMailServer({ onConnect: (_, done) => done(Object.assign(new Error('go away'), { responseCode: 554 })) })
    expect(await send(operator(closed))).toEqual({
      ok: false,
      error: 'the mail server answered 554: the mail server does not accept mail from this machine; ask its administrator',
    })
    expect(await send(operator(server), { signal: AbortSignal.abort() })).toMatchObject({ ok: false })
  })
})
