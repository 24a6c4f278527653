import { getCACertificates } from 'node:tls'
import type { Config } from './config.ts'

/**
 * Node reads a file of further authorities once, before the program begins, and tells nobody when there is no certificate in it.
 * @returns a sentence when a file is named and nothing is trusted for it; else null.
 */
export function extraCaFault({ extraCa }: Pick<Config, 'extraCa'>): string | null {
  if (!extraCa || getCACertificates('extra').length > 0) return null
  return (
    'NODE_EXTRA_CA_CERTS names a file from which no certificate was read, so no authority of your own is trusted; ' +
    'name one that can be read and holds certificates in PEM (-----BEGIN CERTIFICATE-----), and start anew'
  )
}
