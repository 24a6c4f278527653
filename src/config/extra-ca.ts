import { getCACertificates } from 'node:tls'
import type { Config } from './config.ts'

/**
 * Node reads the file of NODE_EXTRA_CA_CERTS once, before the program starts, and does not report a file without certificates.
 * @returns a problem when a file is named but no certificate was read from it; otherwise null.
 */
export function extraCaProblem({ extraCa }: Pick<Config, 'extraCa'>): string | null {
  if (!extraCa || getCACertificates('extra').length > 0) return null
  return (
    'NODE_EXTRA_CA_CERTS names a file from which no certificate was read, so your own CA is not trusted; ' +
    'name a readable file with PEM certificates (-----BEGIN CERTIFICATE-----) and restart'
  )
}
