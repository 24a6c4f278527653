import { once } from 'node:events'
import { connect, createServer, type TlsOptions } from 'node:tls'
import { expect, onTestFinished, test } from 'vitest'
import { directHintFor, hintFor, refusesClient } from '../../../src/push/transport/network-hints.ts'
import { listening } from '../../tools/servers.ts'
import { selfSigned } from '../certificate.ts'

/** @returns the code of a client's error at a server with these options. */
async function codeAt(options: TlsOptions): Promise<string> {
  const server = createServer({ ...selfSigned, ...options })
  onTestFinished(() => void server.close())
  const port = await listening(server)
  const [error] = await once(connect({ port, host: '127.0.0.1', ALPNProtocols: ['http/1.1'], ca: selfSigned.cert }), 'error')
  return String((error as NodeJS.ErrnoException).code)
}

test('the hint for a server without TLS 1.2, or without HTTP/1.1, says so', async () => {
  const old = await codeAt({ minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' })
  expect(hintFor(old)).toBe('the server does not support TLS 1.2 or later; its owner must enable it')
  const other = await codeAt({ ALPNProtocols: ['h2'] })
  expect(hintFor(other)).toBe('the server does not support HTTP/1.1, which is needed here; its owner must enable it')
})

test('the hint for an unreachable proxy is about the settings, unless its certificate fails', () => {
  const away = (cause: string) => hintFor(`the proxy cannot be reached: ${cause}`)
  for (const code of ['CERT_HAS_EXPIRED', 'SELF_SIGNED_CERT_IN_CHAIN']) expect(away(code)).toBe(hintFor(code))
  for (const code of ['ENOTFOUND', 'ERR_TLS_CERT_ALTNAME_INVALID', 'EPIPE']) expect(away(code)).toMatch(/^compare HTTPS_PROXY/)
})

test('the hint for a direct connection does not suggest a proxy', () => {
  expect(hintFor('EHOSTUNREACH')).toMatch(/HTTPS_PROXY/)
  expect(directHintFor('EHOSTUNREACH')).toBe('no answer from there; check the firewalls on the way')
  expect(directHintFor('ENOTFOUND')).toBe(hintFor('ENOTFOUND'))
  expect(directHintFor('EPIPE')).toBeNull()
})

test('a server that rejects a client, or asks for its certificate, is distinguished from one that fails otherwise', () => {
  const alerts = [
    'TLSV13_ALERT_CERTIFICATE_REQUIRED',
    'TLSV1_ALERT_UNKNOWN_CA',
    'SSL/TLS_ALERT_BAD_CERTIFICATE',
    'SSL/TLS_ALERT_HANDSHAKE_FAILURE',
  ]
  for (const alert of alerts) expect(refusesClient(`ERR_SSL_${alert}`)).toBe(true)
  for (const code of ['ECONNRESET', 'UND_ERR_SOCKET', 'CERT_HAS_EXPIRED', 'unknown']) expect(refusesClient(code)).toBe(false)
})
