import { createTransport } from 'nodemailer'
import type { EmailOperator } from '../../config.ts'
import { hintFor } from '../../push/network-hints.ts'
import { type AlarmMessage, mailOf } from './message.ts'
import { type OperatorSender, type SenderContext, type SendResult, TRY_MS } from './sender.ts'

const CONNECT_MS = 10_000

/**
 * Alarms as plain text by SMTP. TLS is verified, and with `starttls` nothing is said before it: a server that offers none gets no mail.
 * The message id is made of the notice's, so that a mail program shows a repeated one once.
 */
export function createEmailSender(operator: EmailOperator, { clock, ca }: SenderContext): OperatorSender {
  const { host, port, tls, login, from, to } = operator
  const open = () =>
    createTransport({
      ...{ host, port, secure: tls === 'implicit', requireTLS: tls === 'starttls', ignoreTLS: tls === 'off' },
      ...(login && { auth: { user: login.username, pass: login.password.reveal() } }),
      tls: { minVersion: 'TLSv1.2', ...(ca !== undefined && { ca }) },
      ...{ connectionTimeout: CONNECT_MS, greetingTimeout: CONNECT_MS, socketTimeout: TRY_MS },
      ...{ disableFileAccess: true, disableUrlAccess: true },
    })
  return {
    async send(id, body, signal): Promise<SendResult> {
      const { subject, text } = mailOf(JSON.parse(body) as AlarmMessage)
      // A transport of its own for each mail: they are few, and one that hangs is given up alone.
      const transport = open()
      const over = new AbortController()
      const until = AbortSignal.any([signal, over.signal])
      const sent = transport
        .sendMail({
          ...{ from, to: [...to], subject, text, date: new Date(clock.now()) },
          messageId: `<${id}@submission-mirror>`,
          headers: { 'Auto-Submitted': 'auto-generated' },
        })
        .then(
          (): SendResult => ({ ok: true }),
          (error: unknown): SendResult => ({ ok: false, error: told(error) }),
        )
      const timer = setTimeout(() => over.abort(), TRY_MS)
      try {
        return await Promise.race([sent, aborted(until)])
      } finally {
        clearTimeout(timer)
        transport.close()
      }
    },
    async close() {},
  }
}

async function aborted(signal: AbortSignal): Promise<SendResult> {
  if (!signal.aborted) await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
  return { ok: false, error: 'the mail server did not take the mail in time' }
}

/** Codes and the server's status say enough; a server's words may repeat what must not be told. */
function told(error: unknown): string {
  const { code, originalCode, responseCode, command } = (error instanceof Error ? error : {}) as Readonly<Record<string, unknown>>
  if (command === 'STARTTLS' && typeof responseCode === 'number')
    return `the mail server offers no TLS (it answered ${responseCode} to STARTTLS), and without it nothing is sent; compare tls and port`
  if (typeof responseCode === 'number') return `the mail server answered ${responseCode}${SMTP_HINTS[responseCode] ?? ''}`
  const what = [originalCode, code].find((each) => typeof each === 'string') ?? 'unknown'
  const hint = hintFor(what)
  return `the mail server cannot be used (${what})${hint === null ? '' : `: ${hint}`}`
}

const SMTP_HINTS: Readonly<Record<number, string>> = {
  530: ': it wants a login; set username and password',
  535: ': it refuses username and password',
  550: ': it refuses sender or recipient; compare from and to',
  553: ': it refuses sender or recipient; compare from and to',
  554: ': it refuses sender or recipient; compare from and to',
}
