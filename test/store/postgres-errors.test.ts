import { describe, expect, it } from 'vitest'
import { connectionError } from '../../src/store/postgres-errors.ts'

function failed(message: string, code?: string): Error {
  return Object.assign(new Error(message), code === undefined ? {} : { code })
}

describe('a connection to Postgres that was not made', () => {
  it.each([
    failed('self-signed certificate in certificate chain', 'SELF_SIGNED_CERT_IN_CHAIN'),
    failed('unable to verify the first certificate', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'),
    failed('certificate has expired', 'CERT_HAS_EXPIRED'),
    failed("Hostname/IP does not match certificate's altnames", 'ERR_TLS_CERT_ALTNAME_INVALID'),
  ])('because of its certificate sends nobody to look for host and port: $message', (error) => {
    expect(connectionError(error).message).toBe(
      `the certificate of the Postgres server is not trusted (${error.message}); name the CA that vouches for it by sslrootcert, and the host as the certificate does`,
    )
  })

  it('because the server speaks no TLS says that', () => {
    const error = failed('The server does not support SSL connections')
    expect(connectionError(error).message).toBe(
      `the Postgres server speaks no TLS (${error.message}); switch it on there, or leave it out of the URL`,
    )
  })

  it('for any other reason says where to look', () => {
    const error = failed('connect ECONNREFUSED 127.0.0.1:1', 'ECONNREFUSED')
    expect(connectionError(error).message).toMatch(
      /^Postgres cannot be reached \(connect ECONNREFUSED .*whether DATABASE_URL names its host and port$/,
    )
  })
})
