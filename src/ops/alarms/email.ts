import { createTransport } from 'nodemailer'
import { abortable, limitedTo } from '../../base/abortable.ts'
import type { EmailOperator } from '../../config/config.ts'
import { directHintFor } from '../../push/transport/network-hints.ts'
import { type AlarmMessage, mailOf } from './message.ts'
import { ATTEMPT_TIMEOUT_MS, type OperatorSender, type SenderContext, type SendResult } from './sender.ts'

const CONNECT_MS = 10_000

/**
 * Sends alarms as plain-text e-mail by SMTP. Verifies TLS certificates.
 * With `starttls`, sends nothing to a server without TLS.
 * The message id contains the notice's id, so that mail programs recognize duplicates.
 */
export function createEmailSender(operator: EmailOperator, { clock, ca }: SenderContext): OperatorSender {
  const { host, port, tls, username, password, from, to } = operator
  const open = () =>
    createTransport({
      host,
      port,
      secure: tls === 'implicit',
      requireTLS: tls === 'starttls',
      ignoreTLS: tls === 'off',
      ...(username && password && { auth: { user: username, pass: password.reveal() } }),
      tls: { minVersion: 'TLSv1.2', ...(ca !== undefined && { ca }) },
      connectionTimeout: CONNECT_MS,
      greetingTimeout: CONNECT_MS,
      socketTimeout: ATTEMPT_TIMEOUT_MS,
      disableFileAccess: true,
      disableUrlAccess: true,
    })
  return {
    async send(id, body, signal): Promise<SendResult> {
      const { subject, text } = mailOf(JSON.parse(body) as AlarmMessage)
      // Use one transport per mail: mails are rare, and a slow mail must not delay the next mail.
      const transport = open()
      const sent = transport
        .sendMail({
          from,
          to: [...to],
          subject,
          text,
          date: new Date(clock.now()),
          messageId: `<${id}@submission-mirror>`,
          headers: { 'Auto-Submitted': 'auto-generated' },
        })
        .then(
          ({ rejectedErrors = [] }): SendResult => ({
            ok: true,
            ...(rejectedErrors.length > 0 && { remark: notReachedText(rejectedErrors) }),
          }),
          (error: unknown): SendResult => ({ ok: false, error: errorText(error) }),
        )
      try {
        return await abortable(sent, limitedTo(ATTEMPT_TIMEOUT_MS, signal))
      } catch {
        return { ok: false, error: `the mail server did not accept the mail within ${ATTEMPT_TIMEOUT_MS / 1_000} s` }
      } finally {
        transport.close()
      }
    },
    async close() {},
  }
}

/**
 * @returns a text with the rejected addresses.
 * A partly accepted mail still counts as sent. A retry would send duplicates to the accepted addresses.
 */
function notReachedText(refusals: readonly { readonly recipient?: string | undefined }[]): string {
  return `but not for ${refusals.map((refusal) => `${refusal.recipient} (${errorText(refusal)})`).join(', ')}`
}

/** @returns a text made only from codes and statuses. The server's own text may contain a secret. */
function errorText(error: unknown): string {
  const { code, originalCode, responseCode, command } = (error instanceof Error ? error : {}) as Readonly<Record<string, unknown>>
  if (command === 'STARTTLS' && typeof responseCode === 'number')
    return `the mail server does not offer TLS (it answered ${responseCode} to STARTTLS), so no mail is sent; check tls and port`
  if (typeof responseCode === 'number') return `the mail server answered ${responseCode}: ${refusalHint(responseCode, String(command))}`
  const what = String([originalCode, code].find((each) => typeof each === 'string') ?? 'unknown')
  const hint = HINTS[what] ?? directHintFor(what)
  return `the mail server cannot be used (${what})${hint === null ? '' : `: ${hint}`}`
}

function refusalHint(status: number, command: string): string {
  if (status < 500) return 'the mail may be accepted later; check the log of the mail server'
  if (status === 530) return 'the mail server requires a login; set username and password'
  if (command.startsWith('AUTH')) return 'the mail server rejects username and password'
  if (command === 'MAIL FROM' || command === 'RCPT TO') return 'the mail server rejects sender or recipient; check from and to'
  if (command === 'DATA') return 'the mail server rejects the content of the mail; ask its administrator'
  return 'the mail server does not accept mail from this machine; ask its administrator'
}

const NO_TLS = 'this port does not use TLS; check tls and port'

const HINTS: Readonly<Record<string, string>> = {
  ECONNECTION: 'the mail server closed the connection; check its log',
  EPROTOCOL: 'this port does not use SMTP; check host and port',
  ERR_SSL_WRONG_VERSION_NUMBER: NO_TLS,
  ERR_SSL_PACKET_LENGTH_TOO_LONG: NO_TLS,
  ERR_TLS_CERT_ALTNAME_INVALID: 'the certificate is for another host name; check host',
}
