import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import { onTestFinished } from 'vitest'
import { selfSigned } from '../../push/certificate.ts'

export const MAIL_USER = 'mirror'
export const MAIL_PASSWORD = 'a-mail-password'

export interface TakenMail {
  readonly to: readonly string[]
  readonly user: string | undefined
  readonly secure: boolean
  readonly source: string
}

export interface MailServer {
  readonly port: number
  readonly taken: TakenMail[]
  refuse(status: number | null): void
}

/** A real SMTP server on loopback with its own certificate. It requires TLS and a login. */
export async function startMailServer(options: SMTPServerOptions = {}): Promise<MailServer> {
  const taken: TakenMail[] = []
  let status: number | null = null
  const server = new SMTPServer({
    key: selfSigned.key,
    cert: selfSigned.cert,
    logger: false,
    authMethods: ['PLAIN'],
    onAuth({ username, password }, _session, done) {
      if (username === MAIL_USER && password === MAIL_PASSWORD) done(null, { user: username })
      else done(new Error('no such user'))
    },
    onData(stream, session, done) {
      text(stream).then((source) => {
        if (status !== null) {
          done(Object.assign(new Error('not now'), { responseCode: status }))
          return
        }
        taken.push({
          to: session.envelope.rcptTo.map(({ address }) => address),
          user: typeof session.user === 'string' ? session.user : undefined,
          secure: session.secure,
          source,
        })
        done()
      }, done)
    },
    ...options,
  })
  server.on('error', () => undefined)
  server.listen(0, '127.0.0.1')
  await once(server.server, 'listening')
  onTestFinished(() => new Promise<void>((resolve) => server.close(() => resolve())))
  return {
    port: (server.server.address() as AddressInfo).port,
    taken,
    refuse(next) {
      status = next
    },
  }
}
